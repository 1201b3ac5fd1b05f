"""A lane copies chunks of a source into a target, one after the other."""
