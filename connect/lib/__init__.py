"""Holds what the plug-in contract and its plug-ins share: Java's text formats, secrets, settings as text, deadlines."""
