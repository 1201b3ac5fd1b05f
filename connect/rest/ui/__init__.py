"""Shows a worker and its cluster to a browser at `/ui`; pages show what REST and the commands also tell."""
