"""Copies topics of another Kafka cluster, as MirrorMaker does."""
