"""New projects from templates: `connect init`."""
