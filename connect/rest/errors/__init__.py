"""Defines the errors of REST: those that it answers with an HTTP status, and how protocol errors of clients are
logged.
"""
