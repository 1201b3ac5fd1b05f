"""Provides the conformance kit for plug-in authors: inherit a suite, write a driver, and the contract is tested.

Import from the modules: `source` (SourceSuite), `sink` (SinkSuite), `drivers` (what an author writes), `fakes`
(contexts and offset store), `strategies` (hypothesis: schemas and values), `equality` (equal without loss). Needs the
extra `testing`. The suites drive tasks through `connect.api` alone: no Kafka, no worker.
"""
