"""`connect dev` runs Kafka, a schema registry, S3, databases and a worker on loopback, kept between runs."""
