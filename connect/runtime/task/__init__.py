"""What a task is seen to do: its state, metrics, traces, messages."""
