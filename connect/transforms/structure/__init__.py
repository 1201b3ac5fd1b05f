"""Finds and rebuilds fields of structs, for transforms that change some of them."""
