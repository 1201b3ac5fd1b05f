"""Texts that servers and records of attackers hold."""

MIB = 1 << 20
ANSI = "\x1b[31mred\x1b]0;pwn\x07\u202ecod.exe"
"""What would colour a terminal, name its window, and turn a file's name round."""
HTML = "<script>alert('Kx7-planted')</script>"
