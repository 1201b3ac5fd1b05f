"""Has the parts of MariaDB and MySQL, which share them but for their URLs."""
