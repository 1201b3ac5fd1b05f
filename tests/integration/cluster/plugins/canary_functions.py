"""A function whose errors show a secret, as a library's may."""


def login(row):
    raise ValueError(f"login of {row!r} with canary-7-s3cr3t failed at http://u:canary-7-s3cr3t@h")
