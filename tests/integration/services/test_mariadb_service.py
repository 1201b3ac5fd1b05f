"""Checks that several servers on one machine leave each other alone."""

import pymysql
from sql_services import installed

from connect.tools.services.mariadb import MariaDbService


def test_a_server_that_starts_leaves_the_temporary_tables_of_another_one():
    with installed(MariaDbService()) as first:
        at = first.endpoint
        connection = pymysql.connect(
            host=at.host, port=at.port, user=at.user, password=at.password, database=at.database, ssl_disabled=True
        )
        with connection, connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE kept (id INT) ENGINE=Aria")
            cursor.execute("INSERT INTO kept VALUES (1)")
            with MariaDbService():
                cursor.execute("FLUSH TABLES")
                cursor.execute("SELECT id FROM kept")
                assert cursor.fetchall() == ((1,),)
                cursor.execute("DROP TEMPORARY TABLE kept")
