"""Tells the time up to which a database's work is settled, so that no late commit is missed."""
