"""What the leader alone does: asks connectors for tasks, places them, shuts out zombies."""
