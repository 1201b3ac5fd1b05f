"""Holds what the contract and its plug-ins share: Java's texts, secrets, settings as text, deadlines."""
