"""Finds the rights on a bucket that are missing, and makes the IAM policy that an administrator can paste."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from connect.api.optional.findings import Aspect, Finding, Weight
from connect.lib.deadline import Deadline
from connectors.s3.settings.bucket_config import BucketConfig
from connectors.s3.settings.classes import S3_STORAGE
from connectors.s3.sink.build import Plan
from connectors.s3.stores.access_errors import RefusedAccessError, WrongKeysError
from connectors.s3.stores.store import Bucket


def missing_rights(plan: Plan, deadline: Deadline) -> Iterator[Finding]:
    """Yield what the account may not do, with the policy that allows it. It is tried with a separate object."""
    bucket = Bucket(plan.bucket)
    try:
        bucket.check(plan.probe_prefix, deadline)
    except WrongKeysError as error:
        yield Finding(Aspect.REACH, str(error), weight=Weight.FAILS)
    except RefusedAccessError as error:
        policy = policy_of(plan.bucket) if plan.bucket.storage_class == S3_STORAGE else ""
        yield Finding(Aspect.REACH, error.message, policy, Weight.FAILS)
    finally:
        bucket.close()


def policy_of(config: BucketConfig) -> str:
    """Return the policy with the least rights that a sink of this configuration needs."""
    actions = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
    if config.tags is not None:
        actions.append("s3:PutObjectTagging")
    if config.acl_canned:
        actions.append("s3:PutObjectAcl")
    arn = f"arn:aws:s3:::{config.bucket}"
    statements = [_allowed(["s3:ListBucket"], arn), _allowed(actions, f"{arn}/*")]
    key = config.sse_kms_key_id
    if key:
        named = key if key.startswith("arn:") else f"arn:aws:kms:{config.region}:*:key/{key}"
        statements.append(_allowed(["kms:GenerateDataKey", "kms:Decrypt"], named))
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _allowed(actions: list[str], resource: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": actions, "Resource": resource}
