"""Holds programs beside the worker: demo, development environment, services, scaffold, reference."""
