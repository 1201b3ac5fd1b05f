"""Declares logs and metrics, each once. Knows no connector."""
