"""Does what only the leader may do: asks connectors for tasks, places the tasks, shuts out zombies."""
