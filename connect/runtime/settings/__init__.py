"""Holds settings of workers and connectors, and the places that they name."""
