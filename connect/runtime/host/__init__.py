"""Holds the task host, which is the child process that runs tasks, and the agent."""
