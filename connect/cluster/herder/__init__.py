"""The herder makes a worker run what the config topic says."""
