"""What a person's commands say to a Connect cluster over REST: ours, and Java's alike. It runs no connector."""
