"""Speaks WebHDFS, which is HDFS over HTTP, with a method for each operation, and translates its errors.

Source of operations and answers: Hadoop's "WebHDFS REST API". The name node tells to which data node content goes. No
message has the address of a request, as a delegation token is a part of it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from connect.api.allowed_hosts import ALLOWED_HOSTS
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.backoff import delay_s
from connect.lib.deadline import Deadline
from connect.lib.http_client import Answer, HttpClient, NoAnswerError
from connectors.s3.stores.access_errors import RefusedAccessError

_REFUSALS: Final = frozenset({
    "AccessControlException", "AuthenticationException", "AuthorizationException", "InvalidToken", "SecurityException",
})  # fmt: skip
_FAULTS: Final = frozenset({"IllegalArgumentException", "InvalidPathException", "ParentNotDirectoryException"})
"""These exceptions mean that the request is wrong, so that the same request would fail again."""
_AGAIN: Final = frozenset({500, 502, 503, 504})
"""If a name node answers with one of these statuses, the request is sent again."""
_LONGEST_WAIT_S: Final = 120.0
_CONNECTIONS: Final = 32
_FOLDER: Final = "DIRECTORY"
_BASE64: Final = "0s"
"""The text of an extended attribute begins with this if the rest is base64 (XAttrCodec)."""


_FILE_BYTES: Final = 1 << 30
_LEAST_BYTES_PER_S: Final = 1 << 20
_Number = Annotated[int, Field(ge=0)]
_Moment = Annotated[int, Field(ge=0, lt=253_402_300_800_000)]
"""Holds epoch milliseconds before the year 10000, which Python's calendar does not have."""
T = TypeVar("T")


class _Status(BaseModel):
    name: str = Field(alias="pathSuffix", pattern="^[^/]+$")
    kind: str = Field(alias="type")
    length: _Number
    modified_ms: _Moment = Field(alias="modificationTime")


class _Statuses(BaseModel):
    statuses: list[_Status] = Field(alias="FileStatus")


class _Partial(BaseModel):
    listed: _Statuses = Field(alias="FileStatuses")


class _Listing(BaseModel):
    remaining: _Number = Field(alias="remainingEntries")
    partial: _Partial = Field(alias="partialListing")


class _ListingAnswer(BaseModel):
    listing: _Listing = Field(alias="DirectoryListing")


class _Attribute(BaseModel):
    name: str
    value: str


class _AttributesAnswer(BaseModel):
    attributes: list[_Attribute] = Field(alias="XAttrs")


_LISTING: Final = TypeAdapter(_ListingAnswer)
_ATTRIBUTES: Final = TypeAdapter(_AttributesAnswer)


@dataclass(frozen=True, slots=True)
class Entry:
    """Describes a file or folder as a listing has it: name, size in bytes, and time of change in epoch milliseconds."""

    name: str
    is_folder: bool
    size_bytes: int
    modified_ms: int


class WebHdfs:
    """Sends requests to one name node. Any thread may call it. All paths are absolute.

    All calls may raise FileNotFoundError, RefusedAccessError, another ConnectError if the same request would fail
    again, and RetriableError for everything else. `credentials` are parameters of each request to the name node.
    `may_reach` tells of an address if the worker lets configurations name its host: data nodes are asked there alone.
    """

    def __init__(
        self,
        url: str,
        credentials: Mapping[str, str],
        *,
        timeout_s: float,
        retries: int,
        retry_backoff_s: float,
        may_reach: Callable[[str], bool],
    ) -> None:
        self.url = url.rstrip("/")
        self._credentials = dict(credentials)
        self._retries = retries
        self._backoff_s = retry_backoff_s
        self._may_reach = may_reach
        self._client = HttpClient(timeout_s=timeout_s, connections=_CONNECTIONS)
        # A file may be long, so the limit is for the longest file. A data node that is slower counts as one that hangs.
        self._data_client = HttpClient(
            timeout_s=timeout_s, connections=_CONNECTIONS, limit_bytes=_FILE_BYTES,
            whole_s=timeout_s + _FILE_BYTES / _LEAST_BYTES_PER_S,
        )  # fmt: skip

    def create(self, path: str, content: Any) -> None:
        """Write a file and make the folders above it. The name must be unique. The content is sent once."""
        to = self._place("PUT", "CREATE", path, overwrite="false", createparent="true")
        self._exchange("PUT", to, content)

    def content(self, path: str) -> bytes:
        """Return the content of a file."""
        return self._exchange("GET", self._place("GET", "OPEN", path))

    def rename(self, path: str, to: str, *, replaces: bool) -> None:
        """Give a file another name. FileExistsError: a file of that name exists, and `replaces` is False.

        FileNotFoundError: there is no file `path`. It may have been renamed by a request whose answer was lost.
        """
        self._ask("PUT", "RENAME", path, destination=to, renameoptions="OVERWRITE" if replaces else "NONE")

    def delete(self, path: str) -> None:
        """Delete a file or folder if it exists. FileExistsError: the folder is not empty."""
        self._ask("DELETE", "DELETE", path, recursive="false")

    def require(self, path: str) -> None:
        """Raise FileNotFoundError if there is no file or folder of that name."""
        self._ask("GET", "GETFILESTATUS", path)

    def set_attribute(self, path: str, name: str, value: bytes) -> None:
        """Give a file an extended attribute."""
        text = _BASE64 + b64encode(value).decode()
        self._ask("PUT", "SETXATTR", path, flag="CREATE,REPLACE", **{"xattr.name": name, "xattr.value": text})

    def attribute(self, path: str, name: str) -> bytes | None:
        """Return an extended attribute of a file, or None if the file does not have it."""
        answer = self._ask("GET", "GETXATTRS", path, encoding="base64")
        texts = (one.value for one in self._parsed(_ATTRIBUTES, answer).attributes if one.name == name)
        try:
            return next((b64decode(text.removeprefix(_BASE64)) for text in texts), None)
        except ValueError:
            raise self._no_webhdfs(answer.status, f"the attribute {name} of {path} is no base64") from None

    def entries(self, folder: str, after: str) -> Iterator[Entry]:
        """Yield the entries of a folder whose names come after `after`, in order. A request gets about a thousand."""
        remaining = 1
        while remaining:
            answer = self._ask("GET", "LISTSTATUS_BATCH", folder, startAfter=after)
            listing = self._parsed(_LISTING, answer).listing
            remaining, found = listing.remaining, listing.partial.listed.statuses
            last = found[-1].name if found else ""
            if remaining and last.encode() <= after.encode():
                raise self._no_webhdfs(answer.status, f"its listing of {folder} does not get on behind {after!r}")
            after = last
            for one in found:
                yield Entry(one.name, one.kind == _FOLDER, one.length, one.modified_ms)

    def _ask(self, method: str, operation: str, path: str, **parameters: str) -> Answer:
        answer = self._at_name_node(method, operation, path, parameters)
        if answer.status >= 300:
            raise self._no_webhdfs(answer.status)
        return answer

    def _parsed(self, kind: TypeAdapter[T], answer: Answer) -> T:
        try:
            return kind.validate_json(answer.data)
        except ValidationError as error:
            wrong = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, wrong["loc"])) or "all of it"
            raise self._no_webhdfs(answer.status, f"{wrong['msg']} at {where}") from None

    def _place(self, method: str, operation: str, path: str, **parameters: str) -> str:
        """Return the address of the data node to which the content of a file is sent, or from which it is read."""
        answer = self._at_name_node(method, operation, path, parameters)
        location = answer.headers.get("Location", "")
        try:
            place = urlsplit(location)
        except ValueError:
            raise self._no_webhdfs(answer.status, "its data node has no address") from None
        if answer.status != 307 or place.scheme not in {"http", "https"} or not place.hostname:
            raise self._no_webhdfs(answer.status)
        if not self._may_reach(f"{place.scheme}://{place.netloc}"):
            raise ConfigError(
                f"The name node at {self.url} sends this worker to the data node {place.netloc.rpartition('@')[2]}, "
                f"which the worker's {ALLOWED_HOSTS} does not list.",
                key="store.url",
                fix=f"Where data nodes may be reached, add their hosts to {ALLOWED_HOSTS} in the worker's own file, as "
                "*.datanodes.example:9864.",
            )
        return location

    def _at_name_node(self, method: str, operation: str, path: str, parameters: Mapping[str, str]) -> Answer:
        query = urlencode({"op": operation, **self._credentials, **parameters})
        address = f"{self.url}/webhdfs/v1{quote(path)}?{query}"
        for failures in range(self._retries + 1):
            is_last = failures == self._retries
            try:
                answer = self._client.ask(method, address)
            except NoAnswerError as error:
                if is_last:
                    raise RetriableError(
                        f"The name node at {self.url} is not reachable ({error.kind}: {error})."
                    ) from None
            else:
                if answer.status not in _AGAIN or is_last:
                    break
            wait_s = delay_s(failures, initial_s=self._backoff_s, max_s=_LONGEST_WAIT_S)
            Deadline.after(wait_s).wait(wait_s)
        if answer.status >= 400:
            raise self._error(answer)
        return answer

    def _exchange(self, method: str, address: str, content: Any = None) -> bytes:
        """Send a request to a data node and return its answer. It has no credentials beside those in the address."""
        headers = {"Content-Type": "application/octet-stream"}
        try:
            answer = self._data_client.ask(method, address, body=content, headers=headers)
        except NoAnswerError as error:
            raise RetriableError(
                f"The name node at {self.url} sends this worker to the data node {urlsplit(address).netloc}, which is "
                f"not reachable ({error.kind}: {error})."
            ) from None
        if answer.status >= 400:
            raise self._error(answer)
        return answer.data

    def _error(self, answer: Answer) -> Exception:
        kind, message = _told(answer)
        if kind == "FileNotFoundException":
            return FileNotFoundError(message)
        if kind in {"FileAlreadyExistsException", "PathIsNotEmptyDirectoryException"}:
            return FileExistsError(message)
        if answer.status == 401 or kind in _REFUSALS or (answer.status == 403 and not kind):
            return RefusedAccessError(
                f"HDFS at {self.url} refused access ({message or f'HTTP {answer.status}'}).",
                key="hdfs.user.name",
                fix="Check hdfs.user.name or hdfs.delegation.token, and that this user may write below s3.bucket.name.",
            )
        if kind == "UnsupportedOperationException":
            return ConfigError(
                f"The name node at {self.url} refuses what this store needs: {message}",
                key="store.url",
                fix="Its dfs.namenode.xattrs.enabled has to be true, as it is unless set otherwise.",
            )
        if kind in _FAULTS:
            return ConnectError(f"The name node at {self.url} refused a request ({kind}: {message}).")
        if not kind and answer.status < 500:
            return self._no_webhdfs(answer.status)
        told = f"{kind}: {message}" if kind else f"HTTP {answer.status}"
        return RetriableError(f"HDFS at {self.url} cannot do that for now ({told}).")

    def _no_webhdfs(self, status: int, why: str = "") -> ConfigError:
        return ConfigError(
            f"What answers at {self.url} does not speak WebHDFS (HTTP {status}{why and f': {why}'}).",
            key="store.url",
            fix="Give the address of the name node's web interface, such as http://namenode:9870.",
        )


def _told(answer: Answer) -> tuple[str, str]:
    """Return the exception's name and the first line of its message; two empty texts if WebHDFS did not answer."""
    try:
        told = json.loads(answer.data)["RemoteException"]
        return str(told["exception"]), str(told["message"]).partition("\n")[0][:300]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", ""
