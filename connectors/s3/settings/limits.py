"""Holds Confluent's keys that have no effect in this sink, and validators that refuse values which it cannot obey."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pydantic import AfterValidator

from connect.lib.setting_text import named_zone
from connectors.s3.paths.path_format import PathFormat
from connectors.s3.settings.classes import known_class, simple_name
from connectors.s3.settings.credentials import KNOWN

_PATH_FORMAT_CHARS_MAX: Final = 1024
WITHOUT_EFFECT: Final[Mapping[str, str]] = MappingProxyType({
    "s3.part.size": "An object is finished by one conditional PUT of up to 5 GiB, so there are no parts.",
    "s3.http.send.expect.continue": "The S3 client sends no Expect header; a refused upload is small and sent once.",
    "s3.send.digest": "Every PUT is signed over the SHA-256 of its body.",
    "s3.elastic.buffer.enable": "Buffers grow with the encoded data; there is no fixed part buffer.",
    "s3.elastic.buffer.init.capacity": "As s3.elastic.buffer.enable.",
    "max.files.scan.limit": "An object tells its own end offset, so nothing is scanned.",
    "max.write.duration.ms": "Each call is bounded by the framework's deadline and s3.request.timeout.ms.",
    "retry.backoff.ms": "The framework backs off inside errors.retry.timeout.",
    "shutdown.timeout.ms": "Nothing is written at shutdown: what is buffered is read again.",
    "schema.cache.size": "Schemas are compared by value; there is no cache.",
    "report.null.values.to.dlq": "A refused null value always goes the way of errors.tolerance.",
    "s3.object.behavior.on.tagging.error": "Tags go with the request that creates the object, so it is never without.",
})  # fmt: skip
"""Maps keys of Confluent's that are accepted to the reason why they change nothing."""


def any_package(value: object) -> object:
    """Return the full name of the known class with the same simple name, whatever its package."""
    return known_class(value) if isinstance(value, str) else value


def one_class(*known: str) -> AfterValidator:
    """Return a validator that accepts only these classes. The error for another one names them."""

    def check(value: str) -> str:
        if value not in known:
            raise ValueError(f"Java classes do not run here; in the place of this one use one of: {', '.join(known)}")
        return value

    return AfterValidator(check)


def _check_credentials(value: str) -> str:
    if simple_name(value) not in KNOWN:
        raise ValueError(
            "Java classes do not run here; the role of another account is "
            "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider with "
            "s3.credentials.provider.sts.role.arn, and all that a worker finds is DefaultCredentialsProvider"
        )
    return value


def _check_timezone(value: str) -> str:
    try:
        named_zone(value or "UTC")
    except ValueError:
        raise ValueError("Not a time zone; give an IANA name such as UTC or Europe/Berlin") from None
    return value


def _check_path_format(value: str) -> str:
    if len(value) > _PATH_FORMAT_CHARS_MAX:
        raise ValueError(f"It has {len(value)} characters; at most {_PATH_FORMAT_CHARS_MAX} are taken, as of keys")
    PathFormat(value)
    return value


def _check_off_or_positive(value: int) -> int:
    if value != -1 and value < 1:
        raise ValueError("Value must be at least 1, or -1 for off")
    return value


def _check_key_part(value: str) -> str:
    if value and any(part in {"", ".", ".."} for part in value.split("/")):
        raise ValueError("Give directories without a / at either end, and none that is empty, . or ..")
    return value


credentials_class: Final = AfterValidator(_check_credentials)
"""Accepts the known classes of Amazon and Confluent."""
key_part: Final = AfterValidator(_check_key_part)
"""Accepts a text that can begin an object key, or an empty one."""
timezone_name: Final = AfterValidator(_check_timezone)
"""Accepts IANA names, and an empty text for UTC."""
path_pattern: Final = AfterValidator(_check_path_format)
"""Accepts patterns that `PathFormat` can read."""
off_or_positive: Final = AfterValidator(_check_off_or_positive)
"""Accepts -1, which means off, and whole numbers from 1 on."""
