"""Finds fields of structs by name and path, for transforms that change them."""
