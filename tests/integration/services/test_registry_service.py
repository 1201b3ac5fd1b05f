import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from connect.tools.services import RegistryEndpoint


def test_a_registered_schema_is_read_back_and_an_incompatible_one_refused(
    registry: RegistryEndpoint, unique: str
) -> None:
    first = json.dumps({"type": "record", "name": "Row", "fields": [{"name": "a", "type": "int"}]})
    changed = json.dumps({"type": "record", "name": "Row", "fields": [{"name": "a", "type": "string"}]})

    status, made = _call(registry, "POST", f"/subjects/{unique}/versions", {"schema": first})
    assert status == 200
    assert _call(registry, "GET", f"/schemas/ids/{made['id']}")[1]["schema"] == first

    assert _call(registry, "PUT", f"/config/{unique}", {"compatibility": "BACKWARD"})[0] == 200
    assert _call(registry, "POST", f"/subjects/{unique}/versions", {"schema": changed})[0] == 409


def _call(endpoint: RegistryEndpoint, method: str, path: str, body: object = None) -> tuple[int, Any]:
    address = urlsplit(endpoint.url)
    connection = HTTPConnection(address.netloc, timeout=20)
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    connection.request(method, address.path + path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    parsed = json.loads(answer.read() or "null")
    connection.close()
    return answer.status, parsed
