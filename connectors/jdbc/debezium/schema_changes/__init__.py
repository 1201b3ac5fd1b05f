"""Makes records of statements that change databases and tables of MySQL and MariaDB, as Debezium's schema changes
topic.
"""
