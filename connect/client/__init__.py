"""Says to a Connect cluster over REST what a person commands: to one of ours, and to Java's alike. It runs no
connector.
"""
