"""Carries a person's commands to a Connect cluster over REST: to one of ours, and to Java's alike.

It runs no connector.
"""
