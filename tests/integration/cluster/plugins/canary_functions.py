"""Functions whose errors show secrets, as a library's may."""


def login(row):
    raise ValueError(f"login of {row!r} with canary-7-s3cr3t failed at http://u:canary-7-s3cr3t@h")


def fails_thrice(row):
    """Every place of an error that a traceback shows: its words, its causes, notes and the members of a group."""
    cause = ConnectionError("in between: no login with 'canary5-s3cr3t'")
    cause.__cause__ = KeyError("innermost: canary4-s3cr3t")
    failed = ExceptionGroup("outermost: canary4-s3cr3t", [ValueError("of a group: canary5-s3cr3t")])
    failed.add_note("a note: Authorization canary4-s3cr3t")
    raise failed from cause
