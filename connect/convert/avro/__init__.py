"""Provides Avro: schemas of the Avro 1.11 specification, their Connect counterparts, and binary encoding of columns."""
