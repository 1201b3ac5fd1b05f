"""Describes databases of which little is known here beside what SQLAlchemy knows."""
