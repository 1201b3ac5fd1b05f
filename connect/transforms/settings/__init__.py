"""Declares the settings of transforms and predicates."""
