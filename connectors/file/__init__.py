"""The file connectors: the lines of a file as a topic, and topics as lines of a file."""
