"""The bucket: create objects under a condition, ask what they hold, probe rights; and what a store's errors mean.

An upload whose answer is lost may have happened; asking again then finds the object, so nothing is written twice.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from connect.api.deadline import Deadline
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.s3.acl_puts import AclPuts
from connectors.s3.bucket_config import BucketConfig
from connectors.s3.chain import PAGE, Chain
from connectors.s3.classes import AZURE_STORAGE, CREDENTIALS, GCS_STORAGE, LOCAL_STORAGE
from connectors.s3.clients import open_store
from connectors.s3.credentials import provider_of
from connectors.s3.refusal import RefusedAccessError

T = TypeVar("T")
Started = asyncio.Task[Mapping[str, str] | ConnectError | None]
"""An object being created: None once it was made, the metadata of the object that was there, or what went wrong."""
_log = logging.getLogger(__name__)
_CONCURRENT_UPLOADS: Final = 8
_CONCURRENT_QUESTIONS: Final = 32
"""More than uploads: they are small, and after a restart each path has one before its first row."""
_STOP_CHECK_S: Final = 0.1
_CODE: Final = re.compile(r"<Code>([^<]{1,60})</Code>")
_STATUS: Final = re.compile(r"status code: (\d{3}[ A-Za-z]*)")
_NO_BUCKET: Final = frozenset({"NoSuchBucket", "ContainerNotFound"})
_HTTP: Final = re.compile(r"HTTP error: ([^\n]{1,200})")
_EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidToken"})
_CLOUDS: Final = {LOCAL_STORAGE: "this worker's machine", GCS_STORAGE: "Google", AZURE_STORAGE: "Azure"}
_RETRIABLE_CODES: Final = frozenset(
    {"SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted"}
)


@dataclass(frozen=True, slots=True)
class Upload:
    """An object to create."""

    key: str
    data: Any
    metadata: Mapping[str, str]
    content_type: str
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """An object as a listing tells of it."""

    key: str
    size_bytes: int
    modified: datetime


class Bucket:
    """One bucket. Owned by the task thread; its requests run side by side on a loop of its own.

    The client sends and receives in threads of its own, so what was started goes on while nobody runs the loop.
    """

    def __init__(self, config: BucketConfig) -> None:
        self.name = config.bucket
        self._endpoint = config.store_url.shown or _CLOUDS.get(config.storage_class, f"AWS, region {config.region}")
        self._credentials = CREDENTIALS[config.storage_class]
        self._mode = "create" if config.conditional_writes else "overwrite"
        self._keys_asked = provider_of(config)
        self._store = open_store(config, self._keys_asked)
        # The client of the store has no ACLs.
        self._puts = AclPuts(config) if config.acl_canned else self._store
        self._loop = asyncio.new_event_loop()
        self._uploads = asyncio.Semaphore(_CONCURRENT_UPLOADS)
        self._questions = asyncio.Semaphore(_CONCURRENT_QUESTIONS)

    def close(self) -> None:
        """Give up what is under way and release the loop; idempotent."""
        if not self._loop.is_closed():
            self.give_up(asyncio.all_tasks(self._loop))
            self._loop.close()

    def start_create(self, upload: Upload) -> Started:
        """Begin to create an object. It goes on in the background, also while nobody waits for it."""
        return self._loop.create_task(self._bounded(self._creating_or_asking(upload), self._uploads))

    def create(self, upload: Upload, deadline: Deadline) -> Mapping[str, str] | None:
        """Create an object; the metadata of the one that is there already, if there is one.

        RetriableError: it may be there or not.
        """
        return self._one(self._creating_or_asking(upload), deadline)

    def start_ask(self, key: str) -> Started:
        """Begin to ask for the metadata of an object; None: it is not there."""
        return self._loop.create_task(self._bounded(self._asking_if_there(key), self._questions))

    def wait_for_one(self, started: Collection[Started], deadline: Deadline) -> None:
        """Return as soon as one of these has ended, and when the deadline is over."""
        self._loop.run_until_complete(self._ended(started, deadline, asyncio.FIRST_COMPLETED))

    def give_up(self, started: Collection[asyncio.Task[Any]]) -> None:
        """End these now. What was sent already may still come into being."""
        for task in started:
            task.cancel()
        if started:
            self._loop.run_until_complete(asyncio.wait(started))

    def last_of(self, chain: Chain, offset: int) -> Callable[[], Awaitable[tuple[str, Mapping[str, str]] | None]]:
        """A request for the key and metadata of the last object of a chain, near an offset; None: there is none."""

        async def call() -> tuple[str, Mapping[str, str]] | None:
            start = await chain.last_start(self._keys, offset)
            return None if start is None else (chain.key(start), await self._asking(chain.key(start))())

        return call

    def objects(self, folder: str, deadline: Deadline) -> list[Listed]:
        """All objects below a folder, as the bucket has them now; empty: all of it."""

        async def call() -> list[Listed]:
            pages = self._store.list(folder or None, chunk_size=PAGE)
            return [
                Listed(found["path"], found["size"], found["last_modified"]) async for page in pages for found in page
            ]

        return self._one(call, deadline)

    def content(self, key: str, deadline: Deadline) -> bytes | None:
        """What an object holds; None: it is not there."""

        async def call() -> bytes | None:
            try:
                return bytes(await (await self._store.get_async(key)).bytes_async())
            except FileNotFoundError:
                return None

        return self._one(call, deadline)

    def delete(self, keys: Sequence[str], deadline: Deadline) -> None:
        """Delete objects that may be there. ConnectError: one of them is still there."""
        for kept in self.all([self._deleting(key) for key in keys], deadline):
            if isinstance(kept, ConnectError):
                raise kept

    def few_keys(self, folder: str, most: int, deadline: Deadline) -> list[str] | None:
        """All keys below a folder; None: there are more than so many."""

        async def call() -> list[str] | None:
            found: list[str] = []
            async for page in self._store.list(folder or None, chunk_size=PAGE):
                found += [one["path"] for one in page]
                if len(found) > most:
                    return None
            return found

        return self._one(call, deadline)

    def metadata(self, keys: Sequence[str], deadline: Deadline) -> list[Mapping[str, str] | ConnectError]:
        """The user metadata of each of these objects, or why it could not be asked for."""
        return self.all([self._asking(key) for key in keys], deadline)

    async def _keys(self, prefix: str, after: str) -> AsyncIterator[str]:
        folder = prefix.rpartition("/")[0]
        async for page in self._store.list(folder or None, offset=after, chunk_size=PAGE):
            for found in page:
                if not found["path"].startswith(prefix):
                    return
                yield found["path"]

    def check(self, prefix: str, deadline: Deadline) -> None:
        """Find out whether the bucket is there, may be written, and refuses a second create; else a ConfigError.

        Writes and deletes one object below `prefix`.
        """
        import uuid

        self._one(self._listing(prefix), deadline)
        if self._mode == "overwrite":
            return
        probe = Upload(f"{_probe_stem(prefix)}-{uuid.uuid4().hex}", b"probe", {}, "text/plain")
        try:
            # The first says that the object was there when its answer was lost and the client sent it again: no one
            # else knows this key.
            self._one(self._creating(probe), deadline)
            is_replaced = self._one(self._creating(probe), deadline)
        finally:
            (kept,) = self.all([self._deleting(probe.key)], deadline)
            if isinstance(kept, ConnectError):
                # The sink itself never deletes, so a role without that right is a good one.
                _log.warning("s3://%s/%s, made by a check, could not be deleted: %s", self.name, probe.key, kept)
        if is_replaced:
            raise ConfigError(
                f"The store at {self._endpoint} ignores If-None-Match: it replaced an object that was there.",
                key="enable.conditional.writes",
                fix="Use a store that has it, or set enable.conditional.writes=false and rotate by records only.",
            )

    def _creating(self, upload: Upload) -> Callable[[], Awaitable[bool]]:
        async def call() -> bool:
            from obstore.exceptions import AlreadyExistsError

            try:
                # A single PUT: the client sends no multipart upload under a condition.
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

    def _creating_or_asking(self, upload: Upload) -> Callable[[], Awaitable[Mapping[str, str] | None]]:
        async def call() -> Mapping[str, str] | None:
            return None if await self._creating(upload)() else await self._asking(upload.key)()

        return call

    def _asking(self, key: str) -> Callable[[], Awaitable[Mapping[str, str]]]:
        async def call() -> Mapping[str, str]:
            try:
                found = await self._store.get_async(key, options={"head": True})
            except FileNotFoundError as error:
                # While two creates of a key are under way S3 answers 409, which the client reports as an object there.
                raise RetriableError(
                    f"s3://{self.name}/{key} was being created by another writer, and is not there now."
                ) from error
            return dict(found.attributes)

        return call

    def _asking_if_there(self, key: str) -> Callable[[], Awaitable[Mapping[str, str] | None]]:
        async def call() -> Mapping[str, str] | None:
            try:
                return dict((await self._store.get_async(key, options={"head": True})).attributes)
            except FileNotFoundError:
                return None

        return call

    def _listing(self, prefix: str) -> Callable[[], Awaitable[None]]:
        async def call() -> None:
            await self._store.list_with_delimiter_async(_probe_stem(prefix))

        return call

    def _deleting(self, key: str) -> Callable[[], Awaitable[None]]:
        async def call() -> None:
            await self._store.delete_async(key)

        return call

    def _one(self, call: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        result = self.all([call], deadline)[0]
        if isinstance(result, ConnectError):
            raise result
        return result

    def all(self, calls: Sequence[Callable[[], Awaitable[T]]], deadline: Deadline) -> list[T | ConnectError]:
        """The answers to requests made side by side, or what went wrong."""
        return self._loop.run_until_complete(self._gather(calls, deadline))

    async def _gather(self, calls: Sequence[Callable[[], Awaitable[T]]], deadline: Deadline) -> list[T | ConnectError]:
        tasks = [asyncio.ensure_future(self._bounded(call, self._questions)) for call in calls]
        await self._ended(tasks, deadline, asyncio.ALL_COMPLETED)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        return [self._answer(result) for result in results]

    async def _bounded(self, call: Callable[[], Awaitable[T]], most: asyncio.Semaphore) -> T | ConnectError:
        from obstore.exceptions import BaseError

        async with most:
            try:
                return await call()
            except ConnectError as error:
                return error
            except (BaseError, OSError) as error:
                return self._translated(error)

    @staticmethod
    async def _ended(tasks: Collection[asyncio.Task[Any]], deadline: Deadline, when: str) -> None:
        pending = set(tasks)
        while pending and not deadline.expired:
            # Stop is an event of another thread, so the loop looks for it.
            timeout_s = min(_STOP_CHECK_S, deadline.remaining_s)
            done, pending = await asyncio.wait(pending, timeout=timeout_s, return_when=when)
            if done and when == asyncio.FIRST_COMPLETED:
                return

    def _answer(self, result: T | ConnectError | BaseException) -> T | ConnectError:
        if isinstance(result, asyncio.CancelledError):
            return RetriableError(f"Bucket {self.name} at {self._endpoint} did not answer in time.")
        if isinstance(result, BaseException) and not isinstance(result, ConnectError):
            raise result
        return result

    def _translated(self, error: Exception) -> ConnectError:
        from obstore.exceptions import InvalidPathError

        if self._keys_asked is not None and self._keys_asked.failure is not None:
            return self._keys_asked.failure

        if isinstance(error, InvalidPathError):
            return ConnectError(f"Bucket {self.name}: the object key is not valid: {error}", key="topics.dir")
        text = str(error)
        code = next(iter(_CODE.findall(text)), "")
        status = next(iter(_STATUS.findall(text)), "").strip()
        where = f"Bucket {self.name} at {self._endpoint}"
        what = " ".join(part for part in (status, code) if part) or next(
            iter(_HTTP.findall(text)), type(error).__name__
        )
        if code in _NO_BUCKET or (status.startswith("404") and not code):
            return ConfigError(f"{where} does not exist.", key="s3.bucket.name", fix="Create it, or name another one.")
        if code in _EXPIRED and self._keys_asked is not None:
            self._keys_asked.forget()
            return RetriableError(f"{where} says that the access keys have expired ({what}); they are looked for anew.")
        if status.startswith(("401", "403")):
            return RefusedAccessError(
                f"{where} refused access ({what}).",
                key=self._credentials[0],
                fix=f"Check {' and '.join(self._credentials)}, and that they may list, get and put objects below "
                "topics.dir.",
            )
        is_client_fault = status.startswith("4") and not status.startswith(("408", "429"))
        if is_client_fault and code not in _RETRIABLE_CODES:
            return ConnectError(f"{where} refused a request ({what}).", fix="See the store's log for the reason.")
        return RetriableError(f"{where} is not reachable or has a fault of its own ({what}).")


def _probe_stem(prefix: str) -> str:
    return "/".join(part for part in (prefix, ".kconnect-probe") if part)
