"""Makes change events of the mutations in a node's commit log."""
