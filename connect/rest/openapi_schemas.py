"""The shapes of bodies and answers in the OpenAPI document. Facts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Bodies:
    """The names of the schemas of a request and of its answers by status; None: no body."""

    answers: Mapping[str, str | None] = field(default_factory=dict)
    request: str | None = None


def _object(required: str = "", /, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return schema | ({"required": required.split()} if required else {})


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _enum(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_INT: Final = {"type": "integer"}
_BOOL: Final = {"type": "boolean"}
_STATE: Final = _enum("UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING")
_WHY: Final = {
    "reason": {**_TEXT, "description": "Why it does not move; not there while rows move."},
    "since": {**_TEXT, "format": "date-time"},
    "waiting_for": _enum("source", "sink", "kafka", "converter", "rows", "restart", "person"),
    "retrying_since": {**_TEXT, "format": "date-time"},
    "next_attempt": {**_TEXT, "format": "date-time"},
}
_NOTES: Final = {
    **_list(_TEXT),
    "description": "What is worth knowing of a configuration that is right; not there where nothing is.",
}
_KEY_TYPE: Final = _enum("BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD")
_TASK: Final = _object("connector task", connector=_TEXT, task=_INT)
_CHANGES: Final = _object(
    added=_ref("Config"),
    changed=_map(_object("from to", **{"from": _TEXT, "to": _TEXT})),
    removed=_ref("Config"),
)

_OFFSETS: Final = _list(_object("partition", partition={"type": "object"}, offset={"type": ["object", "null"]}))

_BACKFILL: Final[dict[str, Any]] = {
    "name": _TEXT,
    "spec": _ref("BackfillSpec"),
    "state": _enum("PLANNED", "RUNNING", "PAUSED", "FAILED", "CANCELLED", "COPIED", "DONE"),
    "chunks": _INT,
    "rows": {**_INT, "description": "As the source estimated them when the job was planned."},
    "size_bytes": _INT,
    "following": _OFFSETS,
    "statements": _list(_TEXT),
    "warnings": _list(_TEXT),
    "created_ms": _INT,
    "updated_ms": _INT,
    "error": _TEXT_OR_NULL,
    "worker": {**_TEXT, "description": "Which worker runs it, or ran it last; empty: a command."},
    "runs_here": {**_BOOL, "description": "A process of the worker that answers runs it."},
}
_NUMBER_OR_NULL: Final = {"type": ["number", "null"]}

SCHEMAS: Final[Mapping[str, Any]] = {
    "Error": _object("error_code message", error_code=_INT, message=_TEXT_OR_NULL),
    "Server": _object("version commit kafka_cluster_id", version=_TEXT, commit=_TEXT, kafka_cluster_id=_TEXT),
    "Health": _object(
        "status message",
        status=_enum("healthy", "starting", "unhealthy"),
        message=_TEXT,
        overdue_tasks=_list(
            _object("connector task reason since_ms", connector=_TEXT, task=_INT, reason=_TEXT, since_ms=_INT)
        ),
    ),
    "Config": _map(_TEXT),
    "ConfigPatch": _map(_TEXT_OR_NULL),
    "CreateConnector": _object(
        "config",
        name=_TEXT,
        config=_ref("Config"),
        initial_state=_enum("RUNNING", "PAUSED", "STOPPED"),
        initial_offsets=_OFFSETS,
    ),
    "Connector": _object(
        "name config tasks type",
        name=_TEXT,
        config=_ref("Config"),
        tasks=_list(_TASK),
        type=_enum("source", "sink", "unknown"),
        offsets_status={**_TEXT, "description": "What became of initial_offsets; only where they were given."},
    ),
    "Connectors": {
        "oneOf": [_list(_TEXT), _map(_object(status=_ref("Status"), info=_ref("Connector")))],
        "description": "Names; with `expand` a map of names to what was asked for.",
    },
    "Stored": {
        "oneOf": [_ref("Connector"), _ref("Validation")],
        "description": "The connector; with `dry_run=true` what would come of it.",
    },
    "State": _object("state worker_id", state=_STATE, worker_id=_TEXT, trace=_TEXT, version=_TEXT, **_WHY),
    "TaskState": _object(
        "id state worker_id", id=_INT, state=_STATE, worker_id=_TEXT, trace=_TEXT, version=_TEXT, **_WHY
    ),
    "Status": _object(
        "name connector tasks type",
        name=_TEXT,
        connector=_ref("State"),
        tasks=_list(_ref("TaskState")),
        type=_enum("source", "sink", "unknown"),
        notes=_NOTES,
    ),
    "Tasks": _list(_object("id config", id=_TASK, config=_ref("Config"))),
    "Reasons": _list(_object("about text", about=_TEXT, text=_TEXT)),
    "Topics": _map(_object("topics", topics=_list(_TEXT))),
    "Offsets": _object(
        "offsets",
        offsets=_OFFSETS,
    ),
    "Message": _object("message", message=_TEXT),
    "Plugins": _list(
        _object(
            "class type",
            **{"class": _TEXT},
            type=_enum("source", "sink", "transformation", "predicate", "converter", "header_converter"),
            version=_TEXT,
        )
    ),
    "BrokenPlugins": _list(_object("name value error", name=_TEXT, value=_TEXT, error=_TEXT)),
    "Definition": _object(
        "name type required default_value importance documentation group width display_name dependents order",
        name=_TEXT,
        type=_KEY_TYPE,
        required=_BOOL,
        default_value=_TEXT_OR_NULL,
        importance=_enum("HIGH", "MEDIUM", "LOW"),
        documentation=_TEXT,
        group=_TEXT_OR_NULL,
        width=_enum("NONE", "SHORT", "MEDIUM", "LONG"),
        display_name=_TEXT,
        dependents=_list(_TEXT),
        order=_INT,
    ),
    "Definitions": _list(_ref("Definition")),
    "Value": _object(
        "name value recommended_values errors visible",
        name=_TEXT,
        value=_TEXT_OR_NULL,
        recommended_values=_list(_TEXT),
        errors=_list(_TEXT),
        visible=_BOOL,
    ),
    "Validation": _object(
        "name error_count groups configs",
        name=_TEXT,
        error_count=_INT,
        notes=_NOTES,
        groups=_list(_TEXT),
        configs=_list(
            _object(
                "definition value",
                definition={"oneOf": [_ref("Definition"), {"type": "null"}]},
                value=_ref("Value"),
            )
        ),
        changes=_CHANGES,
        tasks={"type": ["array", "null"], "items": _ref("Config")},
        new_topics={"type": ["array", "null"], "items": _TEXT},
        plan_error=_TEXT_OR_NULL,
    ),
    "History": _object(
        "name configs states rebalances",
        name=_TEXT,
        configs=_list(
            _object(
                "version changed_ms who config changes",
                version=_INT,
                changed_ms={"type": ["integer", "null"]},
                who=_TEXT_OR_NULL,
                config=_ref("Config"),
                changes={"oneOf": [_CHANGES, {"type": "null"}]},
            )
        ),
        states=_list(
            _object(
                "task state worker_id trace changed_ms",
                task={"type": ["integer", "null"]},
                state=_STATE,
                worker_id=_TEXT,
                trace=_TEXT_OR_NULL,
                changed_ms=_INT,
            )
        ),
        rebalances=_list(
            _object(
                "generation leader workers changed_ms",
                generation=_INT,
                leader=_TEXT,
                workers=_list(_TEXT),
                changed_ms=_INT,
            )
        ),
    ),
    "Logger": _object("level last_modified", level=_TEXT, last_modified={"type": ["integer", "null"]}),
    "Loggers": _map(_ref("Logger")),
    "LoggerNames": _list(_TEXT),
    "EvaluationWanted": _object(
        "connectors",
        connectors=_list(_object("name config", name=_TEXT, config=_ref("Config"))),
        options={"type": "object", "description": "sample_rows, duration_s, crashes, budget_rows, seed, show_values."},
    ),
    "Evaluation": _object(
        "id state progress error result",
        id=_TEXT,
        state=_enum("RUNNING", "DONE", "FAILED"),
        progress=_list(_TEXT),
        error=_TEXT_OR_NULL,
        result={"type": ["object", "null"], "description": "As `connect poc --json` writes it."},
    ),
    "BackfillSpec": {"type": "object", "description": "A backfill's spec, as in configs/backfill/."},
    "Backfill": _object(" ".join(_BACKFILL), **_BACKFILL),
    "BackfillLimits": _object(
        "",
        max_rows_per_second={"type": "integer", "description": "Over all lanes; 0: no limit"},
        max_bytes_per_second={"type": "integer", "description": "Over all lanes; 0: no limit"},
        window={"type": "string", "description": "When chunks may be begun, as 22:00-06:00 Europe/Berlin"},
        max_active_sessions={"type": "integer", "description": "Of the source; 0: no limit"},
        max_replica_lag={"type": "number", "description": "Of the source's replicas, in seconds; 0: no limit"},
        source_connections={"type": "integer", "description": "Of all lanes to the source; 0: no limit"},
    ),
    "Backfills": _list(_ref("Backfill")),
    "BackfillProgress": _object(
        " ".join((*_BACKFILL, "progress", "limits")),
        **_BACKFILL,
        progress=_object(
            "state chunks chunks_done rows rows_done",
            state=_TEXT_OR_NULL,
            error=_TEXT_OR_NULL,
            chunks=_INT,
            chunks_done=_INT,
            rows=_INT,
            rows_done=_INT,
            size_bytes=_INT,
            lanes=_INT,
            rows_per_second={"type": "number"},
            eta_s=_NUMBER_OR_NULL,
            silent_s=_NUMBER_OR_NULL,
        ),
        limits=_ref("BackfillLimits"),
    ),
    "BackfillChunks": _list(
        _object(
            "id planned_rows done read rows size_bytes",
            id=_TEXT,
            planned_rows=_INT,
            done=_BOOL,
            read=_INT,
            rows=_INT,
            size_bytes=_INT,
        )
    ),
    "BackfillVerdict": _object(
        "job good missing twice changed unfinished sample looked_at keys chunks",
        sample={"type": "number"},
        looked_at=_INT,
        keys={"type": ["object", "null"]},
        job=_TEXT,
        good=_BOOL,
        missing=_INT,
        twice=_INT,
        changed=_list(_TEXT),
        unfinished=_list(_TEXT),
        chunks=_list({"type": "object"}),
    ),
    "Level": _object("level", level=_enum("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL")),
}

_C = "/connectors/{name}"
_P = "/connector-plugins"
_L = "/admin/loggers"
_B = "/backfills/{name}"
_DRY_RUN: Final = {
    "dry_run": {**_BOOL, "description": "Answer 200 with a Validation, changes and the plan; store nothing."}
}

QUERIES: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("GET", "/connectors"): {
        "expand": _list(_enum("info", "status")),
        "notes": {**_BOOL, "description": "With each status, what is worth knowing of the configuration."},
    },
    ("POST", "/connectors"): _DRY_RUN,
    ("DELETE", _C): {"reset_offsets": {**_BOOL, "description": "Stop it and forget its offsets, too."}},
    ("PUT", f"{_C}/config"): _DRY_RUN,
    ("PATCH", f"{_C}/config"): _DRY_RUN,
    ("PUT", f"{_C}/rollback/{{version}}"): _DRY_RUN,
    ("POST", f"{_C}/restart"): {"includeTasks": _BOOL, "onlyFailed": _BOOL},
    ("GET", _P): {"connectorsOnly": _BOOL},
    ("GET", f"{_P}/{{plugin}}/config"): {"version": _TEXT},
    ("PUT", f"{_P}/{{plugin}}/config/validate"): {"notes": {**_BOOL, "description": "Add what is worth knowing."}},
    ("PUT", f"{_L}/{{logger}}"): {"scope": _enum("worker", "cluster")},
}

BODIES: Final[Mapping[tuple[str, str], Bodies]] = {
    ("GET", "/"): Bodies({"200": "Server"}),
    ("GET", "/health"): Bodies({"200": "Health", "500": "Health", "503": "Health"}),
    ("GET", "/metrics"): Bodies({"200": "text"}),
    ("GET", "/connectors"): Bodies({"200": "Connectors"}),
    ("POST", "/connectors"): Bodies({"201": "Connector", "200": "Validation"}, "CreateConnector"),
    ("GET", _C): Bodies({"200": "Connector"}),
    ("DELETE", _C): Bodies({"204": None}),
    ("GET", f"{_C}/config"): Bodies({"200": "Config"}),
    ("PUT", f"{_C}/config"): Bodies({"200": "Stored", "201": "Connector"}, "Config"),
    ("PATCH", f"{_C}/config"): Bodies({"200": "Stored"}, "ConfigPatch"),
    ("GET", f"{_C}/history"): Bodies({"200": "History"}),
    ("PUT", f"{_C}/rollback/{{version}}"): Bodies({"200": "Stored"}),
    ("GET", f"{_C}/status"): Bodies({"200": "Status"}),
    ("PUT", f"{_C}/pause"): Bodies({"202": None}),
    ("PUT", f"{_C}/resume"): Bodies({"202": None}),
    ("PUT", f"{_C}/stop"): Bodies({"204": None}),
    ("POST", f"{_C}/restart"): Bodies({"202": "Status", "204": None}),
    ("GET", f"{_C}/tasks"): Bodies({"200": "Tasks"}),
    ("GET", f"{_C}/tasks/{{task}}/status"): Bodies({"200": "TaskState"}),
    ("POST", f"{_C}/tasks/{{task}}/restart"): Bodies({"204": None}),
    ("GET", f"{_C}/topics"): Bodies({"200": "Topics"}),
    ("GET", f"{_C}/why"): Bodies({"200": "Reasons"}),
    ("PUT", f"{_C}/topics/reset"): Bodies({"202": None}),
    ("GET", f"{_C}/offsets"): Bodies({"200": "Offsets"}),
    ("PATCH", f"{_C}/offsets"): Bodies({"200": "Message"}, "Offsets"),
    ("DELETE", f"{_C}/offsets"): Bodies({"200": "Message"}),
    ("GET", _P): Bodies({"200": "Plugins"}),
    ("GET", f"{_P}-broken"): Bodies({"200": "BrokenPlugins"}),
    ("GET", f"{_P}/{{plugin}}/config"): Bodies({"200": "Definitions"}),
    ("PUT", f"{_P}/{{plugin}}/config/validate"): Bodies({"200": "Validation"}, "Config"),
    ("POST", "/poc"): Bodies({"202": "Evaluation"}, "EvaluationWanted"),
    ("GET", "/poc/{id}"): Bodies({"200": "Evaluation"}),
    ("GET", "/poc/{id}/report"): Bodies({"200": None}),
    ("GET", "/backfills"): Bodies({"200": "Backfills"}),
    ("POST", "/backfills"): Bodies({"201": "Backfill"}, "BackfillSpec"),
    ("GET", _B): Bodies({"200": "BackfillProgress"}),
    ("PATCH", f"{_B}/limits"): Bodies({"200": "BackfillLimits"}, "BackfillLimits"),
    ("GET", f"{_B}/chunks"): Bodies({"200": "BackfillChunks"}),
    ("PUT", f"{_B}/pause"): Bodies({"202": None}),
    ("PUT", f"{_B}/resume"): Bodies({"202": None}),
    ("PUT", f"{_B}/cancel"): Bodies({"202": None}),
    ("POST", f"{_B}/verify"): Bodies({"200": "BackfillVerdict"}),
    ("POST", f"{_B}/handover"): Bodies({"202": None}),
    ("GET", _L): Bodies({"200": "Loggers"}),
    ("GET", f"{_L}/{{logger}}"): Bodies({"200": "Logger"}),
    ("PUT", f"{_L}/{{logger}}"): Bodies({"200": "LoggerNames", "204": None}, "Level"),
}
