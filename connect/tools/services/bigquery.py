"""Provides local-bigquery, which has BigQuery's REST and Storage APIs over DuckDB. It runs under its own Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from connect.lib import python_child
from connect.tools.services.process.cache import FETCH_DEADLINE_S, cache_folder, ensure_folder
from connect.tools.services.process.errors import ArtifactError
from connect.tools.services.process.http_answer import answers_ok
from connect.tools.services.process.ports import LOOPBACK
from connect.tools.services.process.process import Command, log_tail, run_to_end
from connect.tools.services.process.python import find_python
from connect.tools.services.process.supervised import SupervisedService

LOCAL_BIGQUERY_VERSION: Final = "0.4.0"
PYTHON: Final = (3, 13)
"""local-bigquery needs Python 3.13 or later."""
_PACKAGES: Final = Path(__file__).with_name("local_bigquery.txt")
"""Is the file that lists all packages of its environment.

Its DuckDB is older than the one that local-bigquery asks for, as DuckDB's extensions are packages, too.
"""
_EXTENSIONS: Final = ("ducklake", "spatial", "icu")
_UNPACK: Final = f"import duckdb_extensions as d; [d.import_extension(name) for name in {_EXTENSIONS}]"
_RUN: Final = """
import sys
import threading

sys.modules["pandas"] = None
import duckdb

connect = duckdb.connect

def connect_by_one_thread(*given, config=None):
    return connect(*given, config={**(config or {}), "threads": 1})

duckdb.connect = connect_by_one_thread
from local_bigquery.cli import main
from local_bigquery.engine import database
from local_bigquery.jobs import runner

all_objects = database.objects

def objects(project_id, dataset_id, table_id=None):
    if table_id is None or project_id not in database._attached:
        return all_objects(project_id, dataset_id, table_id)
    lake = database.quote(f"__ducklake_metadata_{project_id}")
    named = (
        "SELECT {0}_id FROM " + lake + ".ducklake_{0} WHERE end_snapshot IS NULL AND {0}_name = $2 AND schema_id IN "
        "(SELECT schema_id FROM " + lake + ".ducklake_schema WHERE end_snapshot IS NULL AND schema_name = $1)"
    )
    with database.cursor() as cursor:
        if found := cursor.execute(named.format("table"), [dataset_id, table_id]).fetchone():
            rows = f"SELECT record_count FROM {lake}.ducklake_table_stats WHERE table_id = $1"
            counted = cursor.execute(rows, found).fetchone()
            return [(table_id, "TABLE", counted[0] if counted else 0)]
        if cursor.execute(named.format("view"), [dataset_id, table_id]).fetchone():
            return [(table_id, "VIEW", 0)]
    return []

database.objects = objects

lock, submit = threading.Lock(), runner.submit

def submit_alone(*given):
    with lock:
        return submit(*given)

runner.submit = submit_alone
main()
"""
"""BigQuery accepts the id of a job once. local-bigquery first asks if there is such a job and then writes it, so that
two requests at the same moment would both run. So it gets one request at a time.

DuckDB gets one thread, as tables are small here: a statement that is spread over the cores would cost more. pandas,
which is not installed, is marked as missing, as DuckDB would search all of Python's folders for it at each statement.

local-bigquery lists all tables of all datasets to find the one that a request or a statement names, several times for
each, which was two thirds of its work. So DuckLake's catalogue is asked for the name here.
"""


@dataclass(frozen=True)
class BigQueryEndpoint:
    """Holds the addresses for clients.

    There are no credentials: `url` is for REST, `storage` (host:port) is for gRPC, not encrypted.
    """

    url: str
    storage: str
    project: str = "local"


class BigQueryService(SupervisedService[BigQueryEndpoint]):
    """Keeps an emulated BigQuery with its own projects and datasets. Rows and jobs survive a crash, streams do not."""

    name: ClassVar[str] = "bigquery"
    port_names: ClassVar[tuple[str, ...]] = ("http", "grpc")

    def prepare(self) -> None:
        _program()

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        where = ["--host", LOOPBACK, "--port", str(ports["http"]), "--grpc-port", str(ports["grpc"])]
        python = str(_python(_program()))
        return python_child.code_command(_RUN, "--data-dir", str(folder / "data"), *where, python=python)

    def _environ(self) -> Mapping[str, str]:
        # DuckDB looks for its extensions below the home folder, and would download those that it does not find.
        return {"HOME": str(_program() / "home")}

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> BigQueryEndpoint:
        del folder
        return BigQueryEndpoint(url=f"http://{LOOPBACK}:{ports['http']}", storage=f"{LOOPBACK}:{ports['grpc']}")

    def _answers(self, endpoint: BigQueryEndpoint, timeout_s: float) -> bool:
        return answers_ok(endpoint.url, f"/bigquery/v2/projects/{endpoint.project}/datasets", timeout_s)


def _program() -> Path:
    """Return the folder of the cache with the program's environment; it is made now if it is not there."""
    target = cache_folder() / f"local-bigquery-{LOCAL_BIGQUERY_VERSION}"
    if not _is_complete(target):
        find_python(*PYTHON)  # this comes first, as its error says what to do
    return ensure_folder(target, complete=_is_complete, fill=_fill)


def _is_complete(folder: Path) -> bool:
    return (folder / "home" / "unpacked").is_file() and _python(folder).exists()


def _python(folder: Path) -> Path:
    return folder / "venv" / "bin" / "python"


def _fill(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    base = str(find_python(*PYTHON))
    # The folder is renamed in the end, which breaks its scripts; `python -c` and `python -m` still work.
    _run(python_child.command("venv", str(folder / "venv"), python=base), folder, "making a Python environment")
    python = str(_python(folder))
    pip = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement", str(_PACKAGES)]
    _run(python_child.command("pip", *pip, python=python), folder, "pip to install local-bigquery")
    _run(
        python_child.code_command(_UNPACK, python=python), folder, "DuckDB's extensions to be unpacked", HOME=str(home)
    )
    (home / "unpacked").touch()


def _run(argv: Sequence[str], folder: Path, doing: str, **environ: str) -> None:
    log = folder.parent / "install.log"
    if not run_to_end(Command(argv, folder, log, environ=environ), deadline_s=FETCH_DEADLINE_S, doing=doing):
        raise ArtifactError(
            f"local-bigquery {LOCAL_BIGQUERY_VERSION} could not be installed ({doing}). The end of the log:\n"
            f"{log_tail(log)}\n",
            fix="Check that pip reaches a package index from this machine.",
        )
