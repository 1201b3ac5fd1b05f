"""Holds programs beside the worker: the demo, the development environment, services, the scaffold and the reference."""
