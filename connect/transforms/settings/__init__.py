"""The settings of transforms and predicates."""
