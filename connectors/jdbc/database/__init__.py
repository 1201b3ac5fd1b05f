"""What a database says of itself: its catalog, load, replicas, plans of queries."""
