"""Describes the databases that JDBC's connectors know, each as an object of parts behind one interface."""
