"""Finds what is wrong around a cluster, a connector or a worker's file. It only reads, and changes nothing."""
