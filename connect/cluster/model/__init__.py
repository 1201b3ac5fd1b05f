"""What a cluster is made of, as values and pure rules."""
