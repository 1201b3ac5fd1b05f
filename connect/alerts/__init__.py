"""Sends alerts to a webhook: one when something begins to need a person, and one when that is over."""
