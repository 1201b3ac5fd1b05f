"""Makes records of statements that change databases and tables of MySQL and MariaDB, as Debezium writes them to its
schema changes topic.
"""
