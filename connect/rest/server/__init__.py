"""Holds the parts that all resources share: requests, answers, errors, users and rights, TLS."""
