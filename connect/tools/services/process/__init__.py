"""Processes of services: started, watched and ended."""
