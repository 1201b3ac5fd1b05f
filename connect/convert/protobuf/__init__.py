"""Provides Protobuf with a schema registry: proto2 and proto3 schemas, and the wire format over columns."""
