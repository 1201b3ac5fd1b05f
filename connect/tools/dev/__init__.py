"""`connect dev`: Kafka, a schema registry, S3 and a worker on loopback, kept between runs."""
