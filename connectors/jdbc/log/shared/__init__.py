"""Holds what the logs of all databases share: sessions, envelopes, heartbeats, positions."""
