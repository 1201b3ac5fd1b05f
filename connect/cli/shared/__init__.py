"""Holds what several commands share: options, screens, errors."""
