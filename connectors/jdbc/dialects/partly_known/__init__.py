"""Describes databases for which SQLAlchemy does most of the work, and little else is known here."""
