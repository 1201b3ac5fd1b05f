"""Sends a person's commands to a Connect cluster over REST: to one of ours or of Apache Kafka's Java workers.

It runs no connector.
"""
