"""Looks at what all tasks of the cluster count now, those of other workers too."""
