"""Has the parts for a database that is not known; the parts of known databases are their subclasses."""
