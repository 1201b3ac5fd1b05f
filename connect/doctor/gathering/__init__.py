"""Asks for the facts: brokers, machine, certificates, registries. Every question has a time limit."""
