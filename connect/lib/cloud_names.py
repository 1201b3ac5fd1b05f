"""Checks names that become parts of a cloud service's address, as other characters could make it the address of another
host.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

Check = Callable[[str], str]


def _named(rule: str, told: str) -> Check:
    """Return a check that returns a name if it is empty or matches the pattern `rule`.

    Otherwise the check raises ValueError, which tells the rule in the words of `told`.
    """
    pattern: Final = re.compile(rule)

    def check(value: str) -> str:
        if value and not pattern.fullmatch(value):
            raise ValueError(f"Give {told}")
        return value

    return check


region_name = _named("[A-Za-z0-9][A-Za-z0-9_-]{0,62}", "at most 63 letters, digits, - and _")
"""Checks a region. Stores that are not Amazon's have other regions, such as RegionOne."""
bucket_name = _named(
    r"(?!.*\.\.)[A-Za-z0-9$_][A-Za-z0-9._-]{0,221}", "at most 222 letters, digits, ., - and _, and no two dots in a row"
)
"""Checks a bucket of S3 or Google Cloud Storage, or a container of Azure. Old buckets may have capitals and _."""
account_name = _named("[a-z0-9]{3,24}", "3 to 24 lower-case letters and digits")
"""Checks a storage account of Azure."""
project_name = _named(
    "(?:[a-z0-9.-]{1,63}:)?[a-z][a-z0-9-]{0,62}", "lower-case letters, digits and -, behind DOMAIN: where it is of one"
)
"""Checks a project of Google Cloud."""
dataset_name = _named("[A-Za-z0-9_]{1,1024}", "at most 1024 letters, digits and _")
"""Checks a dataset of BigQuery."""
