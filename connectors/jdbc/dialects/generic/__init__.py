"""The parts of a database of which nothing else is known, which known ones build on."""
