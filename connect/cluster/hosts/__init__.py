"""Task hosts: the processes that run tasks, how they start, and how they are watched."""
