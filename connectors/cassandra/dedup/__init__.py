"""Makes one event of the copies of a change that the agents of the replicas send."""
