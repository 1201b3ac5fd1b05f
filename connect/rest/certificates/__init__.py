"""Judges the certificates of listeners by the hosts that others reach them by."""
