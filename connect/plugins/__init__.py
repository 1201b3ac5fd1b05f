"""Finds the installed plug-ins by their entry points."""
