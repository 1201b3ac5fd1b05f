"""Holds functions whose errors contain secrets, as those of a library may."""


def login(row):
    raise ValueError(f"login of {row!r} with canary-7-s3cr3t failed at http://u:canary-7-s3cr3t@h")


def fails_thrice(row):
    """Raise an error with the secret in each place that a traceback shows: its text, causes, notes and members of a
    group.
    """
    cause = ConnectionError("in between: no login with 'canary5-s3cr3t'")
    cause.__cause__ = KeyError("innermost: canary4-s3cr3t")
    failed = ExceptionGroup("outermost: canary4-s3cr3t", [ValueError("of a group: canary5-s3cr3t")])
    failed.add_note("a note: Authorization canary4-s3cr3t")
    raise failed from cause
