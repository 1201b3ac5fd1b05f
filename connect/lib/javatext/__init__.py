"""Holds text as Java's number, date and literal classes read and write it. Pure: no I/O, no clock, no Arrow."""
