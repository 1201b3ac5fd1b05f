"""`python -m connect.cli` is `connect`."""

from connect.cli import main

main()
