"""Shows the main job on real data in one command: a database through Apache Kafka into S3, killed half-way."""
