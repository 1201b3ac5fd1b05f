"""Gives access to a bucket: creates objects if they do not exist, reads their metadata, lists and deletes them, checks
rights.

If the answer to an upload is lost, the object may have been created. The next try then finds the object, so nothing is
written twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connectors.s3.paths.object_chain import PAGE, Chain, ListedObject
from connectors.s3.settings.bucket_config import BucketConfig
from connectors.s3.settings.classes import AZURE_STORAGE, CREDENTIALS, GCS_STORAGE, LOCAL_STORAGE
from connectors.s3.settings.credentials import provider_of
from connectors.s3.stores.acl_puts import AclPuts
from connectors.s3.stores.clients import open_store
from connectors.s3.stores.request_loop import Request, RequestLoop
from connectors.s3.stores.store_errors import StoreErrors

Started = asyncio.Task[Mapping[str, str] | ConnectError | None]
"""This task returns None if an object was created, the metadata of one that existed already, or an error.

A task that asks for an object returns its metadata, or None if the object does not exist.
"""
_log = logging.getLogger(__name__)
_CLOUDS: Final = {LOCAL_STORAGE: "this worker's machine", GCS_STORAGE: "Google", AZURE_STORAGE: "Azure"}


@dataclass(frozen=True, slots=True)
class Upload:
    """Describes an object that is to be created."""

    key: str
    data: Any
    metadata: Mapping[str, str]
    content_type: str
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """Describes an object as a listing tells it."""

    key: str
    size_bytes: int
    modified: datetime


class Bucket:
    """Sends requests to one bucket, several at a time. The task thread owns it."""

    def __init__(self, config: BucketConfig) -> None:
        self.name = config.bucket
        self._endpoint = config.store_url.shown or _CLOUDS.get(config.storage_class, f"AWS, region {config.region}")
        self._mode = "create" if config.conditional_writes else "overwrite"
        keys = provider_of(config)
        self._store = open_store(config, keys)
        # The store's usual client cannot set ACLs.
        self._puts = AclPuts(config) if config.acl_canned else self._store
        where = f"Bucket {self.name} at {self._endpoint}"
        self._requests = RequestLoop(StoreErrors(where, CREDENTIALS[config.storage_class], keys))

    def close(self) -> None:
        """Give up the requests that are under way, and release the loop. May be called twice."""
        self._requests.close()

    def start_create(self, upload: Upload) -> Started:
        """Begin to create an object. It goes on in the background, also while nobody waits for it."""
        return self._requests.start_upload(self._creating_or_asking(upload))

    def create(self, upload: Upload, deadline: Deadline) -> Mapping[str, str] | None:
        """Create an object and return None; if it exists already, return its metadata.

        RetriableError: it is not known if the object was created.
        """
        return self._requests.one(self._creating_or_asking(upload), deadline)

    def start_ask(self, key: str) -> Started:
        """Begin to ask for the metadata of an object. The result is None if the object does not exist."""
        return self._requests.start_question(self._asking_if_there(key))

    def wait_for_one(self, started: Collection[Started], deadline: Deadline) -> None:
        """Return as soon as one of these has ended, or when the deadline is over."""
        self._requests.wait_for_one(started, deadline)

    def give_up(self, started: Collection[Started]) -> None:
        """Cancel these now. An object whose data was sent already may still be created."""
        self._requests.give_up(started)

    def last_of(
        self, chains: Sequence[Chain], offset: int, deadline: Deadline
    ) -> list[tuple[str, Mapping[str, str]] | ConnectError | None]:
        """Return key and metadata of the last object of each chain, which is looked for around an offset.

        An element is None if the chain has no object there. An error is returned for a chain that could not be asked
        for.
        """
        return self._requests.all([self._last_of(chain, offset) for chain in chains], deadline)

    def objects_between(self, chain: Chain, low: int, high: int, deadline: Deadline) -> list[ListedObject]:
        """Return a chain's objects that may hold rows from offset `low` on and begin before `high`."""

        async def call() -> list[ListedObject]:
            return await chain.objects_between(self._keys, low, high)

        return self._requests.one(call, deadline)

    def objects(self, folder: str, deadline: Deadline) -> list[Listed]:
        """Return all objects below a folder, as the bucket has them now; an empty folder means the whole bucket."""

        async def call() -> list[Listed]:
            pages = self._store.list(folder or None, chunk_size=PAGE)
            return [
                Listed(found["path"], found["size"], found["last_modified"]) async for page in pages for found in page
            ]

        return self._requests.one(call, deadline)

    def content(self, key: str, deadline: Deadline) -> bytes | None:
        """Return the content of an object, or None if it does not exist."""

        async def call() -> bytes | None:
            try:
                return bytes(await (await self._store.get_async(key)).bytes_async())
            except FileNotFoundError:
                return None

        return self._requests.one(call, deadline)

    def delete(self, keys: Sequence[str], deadline: Deadline) -> None:
        """Delete objects if they exist. ConnectError: one of them could not be deleted."""
        for kept in self._requests.all([self._deleting(key) for key in keys], deadline):
            if isinstance(kept, ConnectError):
                raise kept

    def few_keys(self, folder: str, most: int, deadline: Deadline) -> list[str] | None:
        """Return all keys below a folder, or None if there are more than `most`."""

        async def call() -> list[str] | None:
            found: list[str] = []
            async for page in self._store.list(folder or None, chunk_size=PAGE):
                found += [one["path"] for one in page]
                if len(found) > most:
                    return None
            return found

        return self._requests.one(call, deadline)

    def metadata(self, keys: Sequence[str], deadline: Deadline) -> list[Mapping[str, str] | ConnectError]:
        """Return the user metadata of each of these objects, or the error by which asking for it failed."""
        return self._requests.all([self._asking(key) for key in keys], deadline)

    def _last_of(self, chain: Chain, offset: int) -> Request[tuple[str, Mapping[str, str]] | None]:
        async def call() -> tuple[str, Mapping[str, str]] | None:
            start = await chain.last_start(self._keys, offset)
            return None if start is None else (chain.key(start), await self._asking(chain.key(start))())

        return call

    async def _keys(self, prefix: str, after: str) -> AsyncIterator[str]:
        folder = prefix.rpartition("/")[0]
        async for page in self._store.list(folder or None, offset=after, chunk_size=PAGE):
            for found in page:
                if not found["path"].startswith(prefix):
                    return
                yield found["path"]

    def check(self, prefix: str, deadline: Deadline) -> None:
        """Check that the bucket exists, may be written to, and refuses to create an object twice. Else ConfigError.

        It creates and deletes one object below `prefix`.
        """
        import uuid

        self._requests.one(self._listing(prefix), deadline)
        if self._mode == "overwrite":
            return
        probe = Upload(f"{_probe_stem(prefix)}-{uuid.uuid4().hex}", b"probe", {}, "text/plain")
        try:
            # The first create may say that the object exists, if its answer was lost and the client sent it again. That
            # is ignored, as no other program knows this key.
            self._requests.one(self._creating(probe), deadline)
            is_replaced = self._requests.one(self._creating(probe), deadline)
        finally:
            (kept,) = self._requests.all([self._deleting(probe.key)], deadline)
            if isinstance(kept, ConnectError):
                # A role without the right to delete is good enough, as the sink itself deletes no object.
                _log.warning("s3://%s/%s, made by a check, could not be deleted: %s", self.name, probe.key, kept)
        if is_replaced:
            raise ConfigError(
                f"The store at {self._endpoint} ignores If-None-Match: it replaced an object that was there.",
                key="enable.conditional.writes",
                fix="Use a store that has it, or set enable.conditional.writes=false and rotate by records only.",
            )

    def _creating(self, upload: Upload) -> Request[bool]:
        async def call() -> bool:
            from obstore.exceptions import AlreadyExistsError

            try:
                # It is one PUT, as the client sends multipart uploads without a condition.
                await self._puts.put_async(
                    upload.key,
                    upload.data,
                    attributes={"Content-Type": upload.content_type, **upload.metadata},
                    tags=None if upload.tags is None else dict(upload.tags),
                    mode=self._mode,
                    use_multipart=False,
                )
            except AlreadyExistsError:
                return False
            return True

        return call

    def _creating_or_asking(self, upload: Upload) -> Request[Mapping[str, str] | None]:
        async def call() -> Mapping[str, str] | None:
            return None if await self._creating(upload)() else await self._asking(upload.key)()

        return call

    def _asking(self, key: str) -> Request[Mapping[str, str]]:
        async def call() -> Mapping[str, str]:
            try:
                found = await self._store.get_async(key, options={"head": True})
            except FileNotFoundError as error:
                # While two requests create the same key, S3 answers 409, for which the client says that the object
                # exists.
                raise RetriableError(
                    f"s3://{self.name}/{key} was being created by another writer, and is not there now."
                ) from error
            return dict(found.attributes)

        return call

    def _asking_if_there(self, key: str) -> Request[Mapping[str, str] | None]:
        async def call() -> Mapping[str, str] | None:
            try:
                return dict((await self._store.get_async(key, options={"head": True})).attributes)
            except FileNotFoundError:
                return None

        return call

    def _listing(self, prefix: str) -> Request[None]:
        async def call() -> None:
            await self._store.list_with_delimiter_async(_probe_stem(prefix))

        return call

    def _deleting(self, key: str) -> Request[None]:
        async def call() -> None:
            await self._store.delete_async(key)

        return call


def _probe_stem(prefix: str) -> str:
    return "/".join(part for part in (prefix, ".kconnect-probe") if part)
