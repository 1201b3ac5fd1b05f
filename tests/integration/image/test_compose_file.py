"""The compose file is one by the specification's own schema, which comes from its Go module."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from go_modules import module_folder

FILE = Path(__file__).parents[3] / "docker" / "compose.yaml"
SPECIFICATION = "github.com/compose-spec/compose-go/v2@v2.16.2"

pytestmark = pytest.mark.chaos


def test_the_compose_file_has_what_the_specification_knows():
    schema = json.loads((module_folder(SPECIFICATION) / "schema/compose-spec.json").read_text())
    check = jsonschema.validators.validator_for(schema)(schema)
    project = yaml.safe_load(FILE.read_text())
    assert [error.message for error in check.iter_errors(project)] == []
    worker = project["services"]["worker-1"]
    worker["readonly"] = worker.pop("read_only")
    (error,) = check.iter_errors(project)
    assert "'readonly' was unexpected" in error.message
