"""Up to when a database's work is settled, so that no late commit is passed over."""
