"""The errors of REST: those it answers with a status, and those of clients on the wire."""
