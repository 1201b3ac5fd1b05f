"""Holds what a task shows of itself: its state, metrics, traces and messages."""
