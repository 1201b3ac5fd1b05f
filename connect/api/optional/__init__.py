"""Defines what a connector may offer beside reading and writing: bulk work, findings, trials, compaction and more."""
