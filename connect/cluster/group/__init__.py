"""The worker's place in the group of workers, held by a process that outlives the worker for a moment."""
