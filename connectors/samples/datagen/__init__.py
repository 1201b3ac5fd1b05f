"""Makes up rows of a schema, by the settings of Confluent's Datagen."""
