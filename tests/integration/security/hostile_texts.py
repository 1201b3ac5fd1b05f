"""Holds texts that attackers put into servers' answers and records."""

MIB = 1 << 20
ANSI = "\x1b[31mred\x1b]0;pwn\x07\u202ecod.exe"
"""This text would colour a terminal, change its title, and reverse the name of a file."""
HTML = "<script>alert('Kx7-planted')</script>"
