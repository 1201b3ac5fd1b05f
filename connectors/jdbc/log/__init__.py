"""Change data capture: `mode=log` of the JDBC source, from the database's own log."""
