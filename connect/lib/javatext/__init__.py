"""Reads and writes texts as Java's number, date and pattern classes do. Pure: no I/O, no clock, no Arrow."""
