"""Asks a database about itself: its catalog, its open sessions and its plans of queries; builds the statements that
read.
"""
