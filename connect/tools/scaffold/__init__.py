"""Creates new projects from templates: `connect init`."""
