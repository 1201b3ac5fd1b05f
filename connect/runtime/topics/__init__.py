"""Topics that tasks need: made where they are missing, read where a source asks."""
