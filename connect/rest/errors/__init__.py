"""The errors of REST: those that it answers with a status, and protocol errors of clients."""
