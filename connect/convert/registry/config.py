"""Declares the settings that all registry converters share, as Confluent does. No I/O.

Source: io.confluent.kafka.serializers.AbstractKafkaSchemaSerDeConfig and SchemaRegistryClientConfig 8.3.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr

from connect.api.allowed_hosts import with_ports
from connect.api.config import Boolean, ClassName, Config, Int, Password, String, at_least, key, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.url import Url, Urls, UrlText
from connect.convert.registry.subjects import STRATEGIES, TOPIC, strategy_name

SECRET_GROUP, SCHEMAS, CLIENT = "Security", "Schemas", "Registry"
NO_CONTEXT: Final = "io.confluent.kafka.serializers.context.NullContextNameStrategy"


def _check_urls(urls: tuple[UrlText, ...]) -> tuple[UrlText, ...]:
    if not urls:
        raise ValueError("List must not be empty")
    for url in urls:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise ValueError("an address of a schema registry starts with http:// or https://")
    return urls


def _check_strategy(name: str) -> str:
    found = strategy_name(name)
    if found is None:
        raise ValueError(f"Class {name} could not be found. There are: {', '.join(STRATEGIES)}")
    return found


def only(default: Any, instead: str) -> AfterValidator:
    """Return a validator for a key of Confluent's of which only the default value is supported.

    Another value must be an error, as ignoring it would be silent.
    """

    def check(value: Any) -> Any:
        if value != default:
            raise ValueError(f"only {json.dumps(default)} is supported. {instead}")
        return value

    return AfterValidator(check)


Strategy = Annotated[ClassName, AfterValidator(_check_strategy)]


class RegistryConfig(Config):
    """Declares where the registry is, and what is written there."""

    url: Annotated[Urls, AfterValidator(_check_urls)] = key(
        "schema.registry.url", importance="high", group=CLIENT, display_name="Schema Registry URL",
        doc="Comma-separated addresses of the schema registry; the next is asked when one does not answer.",
    )  # fmt: skip
    url_randomize: Boolean = key(
        "schema.registry.url.randomize", False, importance="low", group=CLIENT,
        doc="Start with an address drawn by lot.",
    )  # fmt: skip
    auto_register: Boolean = key(
        "auto.register.schemas", True, importance="medium", group=SCHEMAS,
        doc="Register the schema of what is written. false: the subject must have it already.",
    )  # fmt: skip
    use_latest: Boolean = key(
        "use.latest.version", False, importance="low", group=SCHEMAS,
        doc="Write with the subject's latest schema. Counts only with auto.register.schemas=false.",
    )  # fmt: skip
    latest_metadata: Annotated[String, only("", "Name a version by use.schema.id.")] = key(
        "use.latest.with.metadata", "", importance="low", group=SCHEMAS,
        doc="Not supported: write with the latest schema that has these metadata.",
    )  # fmt: skip
    latest_strict: Boolean = key(
        "latest.compatibility.strict", True, importance="low", group=SCHEMAS,
        doc="Refuse rows whose schema the latest version cannot hold. Rows are always checked field by field here.",
    )  # fmt: skip
    use_schema_id: Int = key(
        "use.schema.id", -1, importance="low", group=SCHEMAS,
        doc="Write with the schema of this id; -1: none. Counts only with auto.register.schemas=false.",
    )  # fmt: skip
    id_strict: Boolean = key(
        "id.compatibility.strict", True, importance="low", group=SCHEMAS,
        doc="Refuse rows whose schema use.schema.id cannot hold. Rows are always checked field by field here.",
    )  # fmt: skip
    normalize: Boolean = key(
        "normalize.schemas", False, importance="medium", group=SCHEMAS,
        doc="Let the registry ignore differences without meaning, such as the order of properties.",
    )  # fmt: skip
    generalized_sum_types: Boolean = key(
        "generalized.sum.type.support", False, group=SCHEMAS,
        doc="Read unions and enums in the form that all of Confluent's converters understand.",
    )  # fmt: skip
    ignore_default_for_nullables: Boolean = key(
        "ignore.default.for.nullables", False, group=SCHEMAS,
        doc="Write null for a null in a nullable field that has a default, not the default.",
    )  # fmt: skip
    key_strategy: Strategy = key(
        "key.subject.name.strategy", TOPIC, group=SCHEMAS, doc="How the subject of a key's schema is called.",
    )  # fmt: skip
    value_strategy: Strategy = key(
        "value.subject.name.strategy", TOPIC, group=SCHEMAS, doc="How the subject of a value's schema is called.",
    )  # fmt: skip
    context_strategy: Annotated[
        ClassName, only(NO_CONTEXT, "Put the context into the address: schema.registry.url=http://…/contexts/.name:")
    ] = key(
        "context.name.strategy", NO_CONTEXT, importance="low", group=SCHEMAS,
        doc="Not supported: the registry's context by topic.",
    )  # fmt: skip
    latest_ttl_s: Int = key(
        "latest.cache.ttl.sec", -1, importance="low", group=SCHEMAS,
        doc="Seconds after which the latest version is asked for again; -1: never.",
    )  # fmt: skip
    credentials_source: Annotated[String, one_of("URL", "USER_INFO")] = key(
        "basic.auth.credentials.source", "URL", group=SECRET_GROUP,
        doc="Where user and password are: in the address (URL) or in basic.auth.user.info (USER_INFO).",
    )  # fmt: skip
    user_info_given: Password | None = key(
        "basic.auth.user.info", None, group=SECRET_GROUP, doc="user:password, for USER_INFO.",
    )  # fmt: skip
    user_info_old: Password | None = key(
        "schema.registry.basic.auth.user.info", None, group=SECRET_GROUP, importance="low",
        doc="The old name of basic.auth.user.info.",
    )  # fmt: skip
    bearer_source: Annotated[String, one_of("STATIC_TOKEN", "OAUTHBEARER")] = key(
        "bearer.auth.credentials.source", "STATIC_TOKEN", group=SECRET_GROUP, importance="low",
        doc="Where the bearer token is: in bearer.auth.token, or (OAUTHBEARER) asked of an OAuth issuer.",
    )  # fmt: skip
    bearer_token: Password | None = key(
        "bearer.auth.token", None, group=SECRET_GROUP, doc="A token to send instead of user and password.",
    )  # fmt: skip
    bearer_issuer: Url = key(
        "bearer.auth.issuer.endpoint.url", UrlText(""), group=SECRET_GROUP, importance="low",
        doc="OAUTHBEARER: the issuer's token endpoint, asked with the grant client_credentials.",
    )  # fmt: skip
    bearer_client_id: String = key(
        "bearer.auth.client.id", "", group=SECRET_GROUP, importance="low", doc="OAUTHBEARER: the client's id.",
    )  # fmt: skip
    bearer_client_secret: Password | None = key(
        "bearer.auth.client.secret", None, group=SECRET_GROUP, importance="low", doc="OAUTHBEARER: its secret.",
    )  # fmt: skip
    bearer_scope: String = key(
        "bearer.auth.scope", "", group=SECRET_GROUP, importance="low", doc="OAUTHBEARER: the scope to ask for.",
    )  # fmt: skip
    bearer_expiry_buffer_s: Annotated[Int, at_least(0)] = key(
        "bearer.auth.cache.expiry.buffer.seconds", 300, group=SECRET_GROUP, importance="low",
        doc="OAUTHBEARER: how long before its end a token is asked for anew.",
    )  # fmt: skip
    bearer_logical_cluster: String = key(
        "bearer.auth.logical.cluster", "", group=SECRET_GROUP, importance="low",
        doc="Sent with a bearer token as the header target-sr-cluster.",
    )  # fmt: skip
    bearer_identity_pool: String = key(
        "bearer.auth.identity.pool.id", "", group=SECRET_GROUP, importance="low",
        doc="Sent with a bearer token as the header Confluent-Identity-Pool-Id.",
    )  # fmt: skip
    truststore: String = key(
        "schema.registry.ssl.truststore.location", "", group=SECRET_GROUP, internal=True, reach=Reach.FILE,
        doc="PEM file, or store of Java's, of the authorities to trust; empty: those the system trusts.",
    )  # fmt: skip
    truststore_short: String = key(
        "ssl.truststore.location", "", group=SECRET_GROUP, internal=True, reach=Reach.FILE,
        doc="The same as schema.registry.ssl.truststore.location, which wins.",
    )  # fmt: skip
    keystore: String = key(
        "schema.registry.ssl.keystore.location", "", group=SECRET_GROUP, internal=True, reach=Reach.FILE,
        doc="PEM file, or store of Java's, of this client's certificate and key, where the registry asks for one.",
    )  # fmt: skip
    keystore_short: String = key(
        "ssl.keystore.location", "", group=SECRET_GROUP, internal=True, reach=Reach.FILE,
        doc="The same as schema.registry.ssl.keystore.location, which wins.",
    )  # fmt: skip
    connect_timeout_ms: Annotated[Int, at_least(1)] = key(
        "http.connect.timeout.ms", 60_000, importance="low", group=CLIENT, doc="How long to wait for a connection.",
    )  # fmt: skip
    read_timeout_ms: Annotated[Int, at_least(1)] = key(
        "http.read.timeout.ms", 60_000, importance="low", group=CLIENT, doc="How long to wait for an answer.",
    )  # fmt: skip
    proxy_host: String = key(
        "proxy.host", "", importance="low", group=CLIENT,
        reach=Reach.HOST, bounds="any machine, spoken HTTP to",
        doc="A proxy on the way to the registry, with proxy.port.",
    )  # fmt: skip
    proxy_port: Annotated[Int, at_least(-1)] = key(
        "proxy.port", -1, importance="low", group=CLIENT, doc="The port of proxy.host.",
    )  # fmt: skip
    max_retries: Annotated[Int, at_least(0)] = key(
        "max.retries", 3, importance="low", group=CLIENT, doc="Tries after the first one that failed.",
    )  # fmt: skip
    retries_wait_ms: Annotated[Int, at_least(0)] = key(
        "retries.wait.ms", 1_000, importance="low", group=CLIENT, doc="Wait before the second try; it doubles.",
    )  # fmt: skip
    retries_max_wait_ms: Annotated[Int, at_least(0)] = key(
        "retries.max.wait.ms", 20_000, importance="low", group=CLIENT, doc="Longest wait between two tries.",
    )  # fmt: skip

    @property
    def user_info(self) -> SecretStr | None:
        """Return user:password; None when there is none."""
        return self.user_info_given or self.user_info_old

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Yield the servers, and the proxy with its port."""
        return with_ports(super().named_hosts(), {"proxy.host": self.proxy_port})

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield a problem for each credential, proxy port or issuer setting that is asked for and missing."""
        if self.credentials_source == "USER_INFO" and (
            self.user_info is None or ":" not in self.user_info.get_secret_value()
        ):
            message = "Invalid value [hidden] for configuration basic.auth.user.info: "
            yield ConfigProblem(
                "basic.auth.user.info", f"{message}basic.auth.credentials.source=USER_INFO needs user:password here."
            )
        if self.proxy_host and self.proxy_port < 1:
            yield ConfigProblem("proxy.port", f"proxy.host={self.proxy_host} needs the proxy's port here.")
        if self.bearer_source == "OAUTHBEARER":
            given = {
                "bearer.auth.issuer.endpoint.url": self.bearer_issuer, "bearer.auth.client.id": self.bearer_client_id,
                "bearer.auth.client.secret": self.bearer_client_secret,
            }  # fmt: skip
            for name in (name for name, value in given.items() if not value):
                yield ConfigProblem(name, f"bearer.auth.credentials.source=OAUTHBEARER needs {name}.")
