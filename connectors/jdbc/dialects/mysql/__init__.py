"""Has the parts of MariaDB and MySQL. Both have the same ones, except for their URLs."""
