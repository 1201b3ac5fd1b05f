"""Asks a schema registry, and turns its refusals into Connect's errors. Source: Confluent's REST API, v1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final
from urllib.parse import quote

from pydantic import BaseModel, Field, TypeAdapter

from connect.api.errors import SchemaError
from connect.convert.registry.transport import RegistryError, Transport

AVRO: Final = "AVRO"
_CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one refers to by `name`."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Registered:
    """A schema as the registry has it. `text` is its source; `kind` AVRO, PROTOBUF or JSON."""

    text: str
    kind: str = AVRO
    references: Sequence[Reference] = field(default=())
    schema_id: int | None = None
    version: int | None = None

    @property
    def as_body(self) -> dict[str, Any]:
        """Return the members of a request's JSON body."""
        body: dict[str, Any] = {"schema": self.text}
        if self.kind != AVRO:
            body["schemaType"] = self.kind
        if self.references:
            body["references"] = [{"name": r.name, "subject": r.subject, "version": r.version} for r in self.references]
        return body


_Number = Annotated[int, Field(ge=0, le=2**31 - 1)]


class _IdAnswer(BaseModel):
    id: _Number


class _VersionAnswer(BaseModel):
    subject: str
    version: _Number


class _ReferenceAnswer(_VersionAnswer):
    name: str


class _SchemaAnswer(BaseModel):
    """Holds what a registry says of a schema. It is another party's answer, so each member has its type."""

    text: str = Field(alias="schema")
    kind: str | None = Field(None, alias="schemaType")
    references: list[_ReferenceAnswer] | None = None
    id: _Number | None = None
    version: _Number | None = None

    def registered(self) -> Registered:
        """Return the schema."""
        references = tuple(Reference(r.name, r.subject, r.version) for r in self.references or ())
        return Registered(self.text, self.kind or AVRO, references, self.id, self.version)


_ID: Final = TypeAdapter(_IdAnswer)
_SCHEMA: Final = TypeAdapter(_SchemaAnswer)
_VERSIONS: Final = TypeAdapter(list[_VersionAnswer])


class RegistryClient:
    """Asks one schema registry. Owned by one task thread."""

    def __init__(self, transport: Transport, *, normalize: bool = False) -> None:
        self._transport = transport
        self._query = "?normalize=true" if normalize else ""

    def register(self, subject: str, schema: Registered) -> int:
        """Return the id of the schema, which is registered now if the subject does not have it.

        SchemaError when the registry calls it incompatible or invalid.
        """
        try:
            return self._register(subject, schema)
        except RegistryError as error:
            if error.status != _CONFLICT:
                raise self._refused(subject, schema, error) from error
        try:
            # Of two who register the first schema of a subject at once Apicurio refuses one, and has it by now.
            return self._register(subject, schema)
        except RegistryError as error:
            raise self._refused(subject, schema, error) from error

    def lookup(self, subject: str, schema: Registered) -> int:
        """Return the id that the subject has for exactly this schema. SchemaError when it has none."""
        try:
            path = f"/subjects/{_quoted(subject)}{self._query}"
            return self._transport.call("POST", path, _ID, schema.as_body).id
        except RegistryError as error:
            if error.status == 404:
                raise SchemaError(
                    f"Subject {subject} of the schema registry does not have this schema: {schema.text:.500}",
                    fix="Register it, or set auto.register.schemas=true or use.latest.version=true.",
                ) from error
            raise self._refused(subject, schema, error) from error

    def latest(self, subject: str) -> Registered:
        """Return the newest version of the subject. SchemaError when there is no such subject."""
        try:
            return self._transport.call("GET", f"/subjects/{_quoted(subject)}/versions/latest", _SCHEMA).registered()
        except RegistryError as error:
            if error.status == 404:
                raise SchemaError(
                    f"The schema registry has no subject {subject}, whose latest version use.latest.version asks for.",
                    fix="Register a schema for it, or set use.latest.version=false.",
                ) from error
            raise self._failed(f"the latest version of {subject}", error) from error

    def by_id(self, schema_id: int) -> Registered:
        """Return the schema with this id. SchemaError when the registry does not know it."""
        try:
            answer = self._transport.call("GET", f"/schemas/ids/{schema_id}", _SCHEMA)
        except RegistryError as error:
            if error.status == 404:
                raise SchemaError(
                    f"The schema registry has no schema with id {schema_id}, which the record names.",
                    fix="Check that schema.registry.url is the registry that the record's producer uses.",
                ) from error
            raise self._failed(f"schema id {schema_id}", error) from error
        return replace(answer.registered(), schema_id=schema_id)

    def by_version(self, reference: Reference) -> Registered:
        """Return the schema that a reference names. SchemaError when it is gone."""
        try:
            path = f"/subjects/{_quoted(reference.subject)}/versions/{reference.version}"
            return self._transport.call("GET", path, _SCHEMA).registered()
        except RegistryError as error:
            raise self._failed(
                f"version {reference.version} of {reference.subject}, which is referred to", error
            ) from error

    def version_of(self, schema_id: int, subject: str) -> int | None:
        """Return the version that the schema has in the subject; None when the subject does not have it."""
        try:
            answer = self._transport.call("GET", f"/schemas/ids/{schema_id}/versions", _VERSIONS)
        except RegistryError as error:
            if error.status == 404:
                return None
            raise self._failed(f"the versions of schema id {schema_id}", error) from error
        return next((found.version for found in answer if found.subject == subject), None)

    def _register(self, subject: str, schema: Registered) -> int:
        path = f"/subjects/{_quoted(subject)}/versions{self._query}"
        return self._transport.call("POST", path, _ID, schema.as_body).id

    def _refused(self, subject: str, schema: Registered, error: RegistryError) -> SchemaError:
        if error.status == _CONFLICT:
            return SchemaError(
                f"The schema is incompatible with what subject {subject} has, the schema registry says: "
                f"{error.message} (error code {error.code}). The schema: {schema.text:.500}",
                fix="Make the change compatible (a new field needs a default or must be optional), or change the "
                "subject's compatibility level.",
            )
        if error.status == 422:
            return SchemaError(
                f"The schema registry takes this {schema.kind} schema for subject {subject} to be invalid: "
                f"{error.message} (error code {error.code}). The schema: {schema.text:.500}"
            )
        return self._failed(f"subject {subject}", error)

    @staticmethod
    def _failed(about: str, error: RegistryError) -> SchemaError:
        return SchemaError(
            f"The schema registry failed about {about}: {error.message} (HTTP {error.status}, error code {error.code})."
        )


def _quoted(subject: str) -> str:
    return quote(subject, safe="")
