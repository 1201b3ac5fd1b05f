"""A Confluent-compatible schema registry: its client, subjects, and the frame that its schema ids travel in."""
