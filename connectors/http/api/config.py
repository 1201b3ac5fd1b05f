"""Declares the settings of the HTTP sink by the keys of Confluent's connector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator

from connect.api.allowed_hosts import with_ports
from connect.api.config import Boolean, Int, Password, String, at_least, between, key, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.tls.client_tls import checks_host, client_tls
from connect.api.url import Url
from connectors.http.api.oauth_keys import AivenOAuthKeys, ConfluentOAuthKeys
from connectors.http.api.request_plan import Plan, statuses
from connectors.http.calls.peer import Peer, basic_authorization, merged_headers, proxy_url
from connectors.http.calls.tls_keys import client_key_password, store_file, store_password, store_type

CONNECTION: Final = "Connection"
BATCHES: Final = "Batching"
RETRIES: Final = "Retries"
_SSL: Final = "https.ssl."
_REPORTER: Final = "reporter."


def _check_statuses(text: str) -> str:
    try:
        statuses(text)
    except ValueError:
        raise ValueError("Statuses are written as 400-,404,500-503") from None
    return text


class HttpSinkConfig(ConfluentOAuthKeys):
    """Says what is sent where, and what happens when it is refused."""

    url: Url = key(
        "http.api.url", importance="high", group=CONNECTION,
        doc="The URL that records are sent to; behind its host it may have ${topic}, ${key} and ${field} in it.",
    )  # fmt: skip
    method: Annotated[String, one_of("POST", "PUT", "PATCH", "DELETE", ignore_case=True)] = key(
        "request.method", "POST", importance="high", group=CONNECTION, doc="The method of the requests."
    )
    body_format: Annotated[String, one_of("string", "json", ignore_case=True)] = key(
        "request.body.format",
        "string",
        group=CONNECTION,
        doc="Whether a record's value is sent as its text or as JSON.",
    )
    headers: Password | None = key(
        "headers", None, group=CONNECTION, doc="Headers of each request, as name:value, with header.separator between."
    )
    header_separator: String = key("header.separator", "|", group=CONNECTION, doc="What is between two headers.")
    auth_type: Annotated[String, one_of("NONE", "BASIC", "OAUTH2", ignore_case=True)] = key(
        "auth.type", "NONE", group=CONNECTION,
        doc="NONE, BASIC with connection.user and connection.password, or OAUTH2 with oauth2.*.",
    )  # fmt: skip
    user: String = key("connection.user", "", group=CONNECTION, doc="The user, for auth.type=BASIC.")
    password: Password | None = key("connection.password", None, group=CONNECTION, doc="The user's password.")
    on_null: Annotated[String, one_of("ignore", "delete", "fail", "log", ignore_case=True)] = key(
        "behavior.on.null.values", "ignore", group=CONNECTION, importance="low",
        doc="What a record without a value does: ignore and log leave it out, delete sends a DELETE, fail makes it a "
        "bad record.",
    )  # fmt: skip
    on_error: Annotated[String, one_of("fail", "ignore", "log", ignore_case=True)] = key(
        "behavior.on.error", "fail", group=RETRIES,
        doc="What becomes of records that the server refuses for good: fail makes them dead letters or ends the task, "
        "as errors.tolerance says; ignore and log leave them out, which the task's notes tell.",
    )  # fmt: skip
    retries: Annotated[Int, at_least(0)] = key(
        "max.retries", 10, group=RETRIES,
        doc="How often a request is sent again for its status. A server that does not answer is waited for.",
    )  # fmt: skip
    retry_backoff_ms: Annotated[Int, at_least(0)] = key(
        "retry.backoff.ms", 3000, group=RETRIES, doc="How long to wait before a request is sent again."
    )
    retried: Annotated[String, AfterValidator(_check_statuses)] = key(
        "retry.on.status.codes", "400-", group=RETRIES,
        doc="The statuses for which a request is sent again, such as 400-,404,500-503.",
    )  # fmt: skip
    batch_rows: Annotated[Int, between(1, 1_000_000)] = key(
        "batch.max.size", 1, importance="high", group=BATCHES,
        doc="How many records of one partition a request has at most; their URLs are the same.",
    )  # fmt: skip
    prefix: String = key("batch.prefix", "", group=BATCHES, doc="What a request's body begins with.")
    suffix: String = key(
        "batch.suffix", "", group=BATCHES, doc="What a request's body ends with.", harmless="a part of a body"
    )
    separator: String = key("batch.separator", ",", group=BATCHES, doc="What is between two records.")
    as_array: Boolean = key(
        "batch.json.as.array", True, group=BATCHES, doc="Whether a body of JSON is an array of records."
    )
    connect_timeout_ms: Annotated[Int, at_least(1)] = key(
        "http.connect.timeout.ms", 30_000, group=CONNECTION, importance="low", doc="How long to wait for a connection."
    )
    request_timeout_ms: Annotated[Int, at_least(1)] = key(
        "http.request.timeout.ms", 30_000, group=CONNECTION, importance="low", doc="How long to wait for an answer."
    )
    proxy_host: String = key("http.proxy.host", "", group=CONNECTION, reach=Reach.HOST, doc="The host of a proxy.")
    proxy_port: Int = key("http.proxy.port", 8080, group=CONNECTION, doc="The proxy's port.", harmless="a number")
    proxy_user: String = key("http.proxy.user", "", group=CONNECTION, doc="The proxy's user.", harmless="a name")
    proxy_password: Password | None = key(
        "http.proxy.password", None, group=CONNECTION, doc="The password of the proxy's user.", harmless="a password"
    )
    truststore: String | None = store_file(
        _SSL, "truststore", CONNECTION,
        "A PEM file or a store of Java's with the authorities that the server's certificate is of.",
    )  # fmt: skip
    keystore: String | None = store_file(
        _SSL, "keystore", CONNECTION, "A PEM file or a store of Java's with the client's key and certificate."
    )
    key_password: Password | None = client_key_password(_SSL, CONNECTION)
    truststore_password: Password | None = store_password(_SSL, "truststore", CONNECTION)
    keystore_password: Password | None = store_password(_SSL, "keystore", CONNECTION)
    truststore_type: String = store_type(_SSL, "truststore", CONNECTION)
    keystore_type: String = store_type(_SSL, "keystore", CONNECTION)

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Yield the servers, and the proxy with its port."""
        return with_ports(super().named_hosts(), {"http.proxy.host": self.proxy_port})

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what cannot be sent."""
        yield from url_problems("http.api.url", str(self.url))
        yield from header_problems("headers", self._given_headers())
        if self.auth_type.upper() == "BASIC" and not self.user:
            yield ConfigProblem("connection.user", "auth.type=BASIC needs connection.user.")
        if self.auth_type.upper() == "OAUTH2":
            yield from self.oauth_problems()

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield a note for each key that does something else than in Java."""
        if self.with_prefix(_REPORTER):
            yield ConfigProblem(
                "reporter.error.topic.name",
                "Nothing is written to the topics of reporter.*: refused records go to "
                "errors.deadletterqueue.topic.name, and answers are not kept.",
            )

    def plan(self) -> Plan:
        """Return the plan by which records are sent with these settings. ConfigError: a TLS file cannot be used."""
        is_json = self.body_format.lower() == "json"
        base, path = split_url(str(self.url))
        given: Mapping[str, str] = self.with_prefix(_SSL)
        given_headers = [dict([_pair(one)]) for one in self._given_headers()]
        headers = merged_headers({"Content-Type": "application/json" if is_json else "text/plain"}, *given_headers)
        if self.auth_type.upper() == "BASIC":
            headers = merged_headers(headers, {"Authorization": basic_authorization(self.user, self.password)})
        peer = Peer(
            [base],
            timeout_s=self.request_timeout_ms / 1000,
            connect_timeout_s=self.connect_timeout_ms / 1000,
            headers=headers,
            tls=client_tls(given, self.allowed, _SSL, "the server") if given else None,
            checks_host=checks_host(given),
            proxy=proxy_url(self.proxy_host, self.proxy_port, self.proxy_user, self.proxy_password),
            credentials=self.credentials() if self.auth_type.upper() == "OAUTH2" else None,
        )
        in_array = is_json and self.as_array
        return Plan(
            peer,
            path,
            method=self.method.upper(),
            as_json=is_json,
            batch_rows=self.batch_rows,
            prefix="[" if in_array else self.prefix,
            separator="," if in_array else self.separator,
            suffix="]" if in_array else self.suffix,
            retries=self.retries,
            retry_backoff_s=self.retry_backoff_ms / 1000,
            retried=statuses(self.retried),
            on_null="ignore" if self.on_null.lower() == "log" else self.on_null.lower(),
            leaves_out=self.on_error.lower() != "fail",
        )

    def _given_headers(self) -> list[str]:
        text = self.headers.get_secret_value() if self.headers is not None else ""
        return [one for one in text.split(self.header_separator or "|") if one.strip()]


def split_url(url: str) -> tuple[str, str]:
    """Return a URL in two parts: protocol and host, and the path with all behind it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}", urlunsplit(parts._replace(scheme="", netloc="")) or "/"


def url_problems(name: str, url: str) -> Iterator[ConfigProblem]:
    """Yield a problem where a URL is none of HTTP, or where values of records would choose its host."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        yield ConfigProblem(name, f"Invalid value for configuration {name}: it is no URL of HTTP.")
    elif "$" in parts.netloc:
        yield ConfigProblem(name, f"Invalid value for configuration {name}: a record's values may not choose the host.")


def header_problems(name: str, headers: Iterable[str]) -> Iterator[ConfigProblem]:
    """Yield a problem where a text is no header. The text is not shown, as it may be a secret."""
    if any(":" not in one or not one.isprintable() or not _pair(one)[0] for one in headers):
        yield ConfigProblem(name, f"Invalid value for configuration {name}: write each header as name:value.")


def _pair(header: str) -> tuple[str, str]:
    name, _, value = header.partition(":")
    return name.strip(), value.strip()


class AivenHttpSinkConfig(AivenOAuthKeys):
    """Says what is sent where by the keys of Aiven's connector: values with a schema, and maps, are sent as JSON."""

    url: Url = key("http.url", importance="high", group=CONNECTION, doc="The URL that records are sent to by POST.")
    auth_type: Annotated[String, one_of("none", "static", "oauth2")] = key(
        "http.authorization.type", importance="high", group=CONNECTION,
        doc="none, static with http.headers.authorization, or oauth2 with oauth2.*.",
    )  # fmt: skip
    authorization: Password | None = key(
        "http.headers.authorization", None, group=CONNECTION, doc="The header Authorization, for static."
    )
    content_type: String = key("http.headers.content.type", "", group=CONNECTION, doc="The header Content-Type.")
    headers: Password | None = key(
        "http.headers.additional", None, group=CONNECTION, doc="Further headers, as name:value, with commas between."
    )
    batching: Boolean = key("batching.enabled", False, group=BATCHES, doc="Whether a request has several records.")
    batch_rows: Annotated[Int, between(1, 1_000_000)] = key(
        "batch.max.size", 500, group=BATCHES, doc="How many records of one partition a request has at most."
    )
    prefix: String = key("batch.prefix", "", group=BATCHES, doc="What a batch begins with.")
    suffix: String = key(
        "batch.suffix", "\n", group=BATCHES, doc="What a batch ends with.", harmless="a part of a body"
    )
    separator: String = key("batch.separator", "\n", group=BATCHES, doc="What is between two records.")
    retries: Annotated[Int, at_least(0)] = key(
        "max.retries", 1, group=RETRIES,
        doc="How often a request is sent again for its status. A server that does not answer is waited for.",
    )  # fmt: skip
    retry_backoff_ms: Annotated[Int, at_least(0)] = key(
        "retry.backoff.ms", 3000, group=RETRIES, doc="How long to wait before a request is sent again."
    )
    timeout_s: Annotated[Int, at_least(1)] = key(
        "http.timeout", 30, group=CONNECTION, importance="low", doc="How many seconds to wait for an answer."
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what cannot be sent."""
        yield from url_problems("http.url", str(self.url))
        yield from header_problems("http.headers.additional", self._given_headers())
        if self.auth_type == "static" and self.authorization is None:
            yield ConfigProblem("http.headers.authorization", "http.authorization.type=static needs it.")
        if self.auth_type == "oauth2":
            yield from self.oauth_problems()

    def plan(self) -> Plan:
        """Return the plan by which records are sent with these settings."""
        base, path = split_url(str(self.url))
        own = {"Content-Type": self.content_type} if self.content_type else {}
        if self.auth_type == "static" and self.authorization is not None:
            own["Authorization"] = self.authorization.get_secret_value()
        headers = merged_headers(*[dict([_pair(one)]) for one in self._given_headers()], own)
        batched = self.batching
        credentials = self.credentials() if self.auth_type == "oauth2" else None
        return Plan(
            Peer([base], float(self.timeout_s), float(self.timeout_s), headers, credentials=credentials),
            path.replace("${", "%24{"),
            as_json=True,
            plain_texts=True,
            batch_rows=self.batch_rows if batched else 1,
            prefix=self.prefix if batched else "",
            separator=self.separator,
            suffix=self.suffix if batched else "",
            retries=self.retries,
            retry_backoff_s=self.retry_backoff_ms / 1000,
            on_null="fail",
        )

    def _given_headers(self) -> list[str]:
        text = self.headers.get_secret_value() if self.headers is not None else ""
        return [one for one in text.split(",") if one.strip()]
