"""Jobs that a worker runs for REST in processes of their own."""
