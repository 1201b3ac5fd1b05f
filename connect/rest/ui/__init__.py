"""Shows a worker and its cluster to a browser at `/ui`: views of what REST and the commands say."""
