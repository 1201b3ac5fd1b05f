"""Makes the TLS of https listeners and of calls between workers, and keeps it at what its files hold."""
