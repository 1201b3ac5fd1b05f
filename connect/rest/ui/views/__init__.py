"""Turns what the cluster says into what a page shows. Pure."""
