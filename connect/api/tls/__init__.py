"""Sets up TLS by the settings that Java's clients have."""
