"""Logs and metrics, each declared once. Knows no connector."""
