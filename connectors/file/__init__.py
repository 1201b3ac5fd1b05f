"""Read the lines of a file into a topic, and write topics as lines of a file."""
