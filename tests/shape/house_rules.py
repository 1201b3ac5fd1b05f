"""Defines the rules of the house: how folders, imports, classes and docstrings of the product are to be.

Each rule gives what breaks it today, as names that hold still while lines move. `exceptions.json` lists them, and
`test_shape_house.py` lets that list only shrink.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from plain_prose import has_main_verb, is_plain
from shape_tree import modules, named, tree

MOST_FILES = 20
"""Python files of a folder beside __init__.py."""
MOST_METHODS = 25
MOST_ARGUMENTS = 12
"""Parameters of a constructor beside self."""
DATABASE_NAMES = frozenset(
    {
        "postgresql",
        "postgres",
        "mysql",
        "mariadb",
        "sqlite",
        "duckdb",
        "oracle",
        "mssql",
        "cockroachdb",
        "redshift",
        "snowflake",
        "firebird",
    }
)
PRODUCT = modules("connect", "connectors")


def crowded_folders() -> Iterator[str]:
    """Yield each folder with more Python files than a stranger looks through."""
    counts = Counter(path.parent for path in PRODUCT if path.name != "__init__.py")
    yield from (named(folder) for folder, count in counts.items() if count > MOST_FILES)


def large_classes() -> Iterator[str]:
    """Yield each class with more methods than one job needs, or with a constructor of too many parameters."""
    for path in PRODUCT:
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.ClassDef):
                continue
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
            made_by = [item.args for item in methods if item.name == "__init__"]
            arguments = max((len(args.args) + len(args.kwonlyargs) - 1 for args in made_by), default=0)
            if len(methods) > MOST_METHODS or arguments > MOST_ARGUMENTS:
                yield f"{named(path)} {node.name}"


def database_branches() -> Iterator[str]:
    """Yield each file of the JDBC connector, outside of its dialects, that compares with a database's name."""
    for path in modules("connectors/jdbc"):
        if named(path).startswith("connectors/jdbc/dialects/"):
            continue
        for node in ast.walk(tree(path)):
            operands = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            named_here = {text for operand in operands for text in _texts(operand)}
            if named_here & DATABASE_NAMES:
                yield named(path)
                break


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the string constants inside of an expression."""
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def _target(node: ast.Assign | ast.AnnAssign) -> ast.expr:
    """Return what an assignment writes to."""
    return node.targets[0] if isinstance(node, ast.Assign) else node.target


def import_circles() -> Iterator[str]:
    """Yield each circle of folders that import each other: two siblings, or a folder and one below it."""
    links: defaultdict[str, set[str]] = defaultdict(set)
    known = {_dotted(path): path for path in PRODUCT}
    for name, path in known.items():
        for imported in _imports(path, name, known):
            links[_folder(path)].add(_folder(known[imported]))
    for circle in _circles(links):
        yield " <-> ".join(sorted(circle))


def _dotted(path: Path) -> str:
    """Return the dotted name of a module."""
    return named(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _folder(path: Path) -> str:
    """Return the folder that a module stands in; the front door of a package counts as its own folder."""
    return named(path.parent)


def _imports(path: Path, name: str, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of the product that a module imports when it is loaded."""
    for node in _statements(tree(path).body):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found = full if full in known else node.module
                if found in known and found != name:
                    yield found
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is loaded, those for the type checker left out."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.If | ast.Try):
            yield from _statements(node.body)
        yield node


def _circles(links: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the groups of folders that reach each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(links.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            group = set(stack[at:])
            del stack[at:]
            if len(group) > 1:
                found.append(group)

    for node in sorted(links):
        if node not in index:
            visit(node)
    return found


def riddling_docstrings() -> Iterator[str]:
    """Yield each docstring that is no plain sentence, as `file name`."""
    for path in PRODUCT:
        counts: Counter[str] = Counter()
        for name, text in _docstrings(tree(path), ""):
            counts[name] += 1
            if not is_plain(text):
                number = f"#{counts[name]}" if counts[name] > 1 else ""
                yield f"{named(path)} {name or 'module'}{number}"


def headlines() -> Iterator[str]:
    """Yield each module, tests included, whose docstring names something and does not say what the module does."""
    for path in [*PRODUCT, *modules("tests")]:
        text = ast.get_docstring(tree(path))
        if text is not None and not has_main_verb(text):
            yield named(path)


def _docstrings(node: ast.AST, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the dotted name and text of each docstring, those of attributes included."""
    body = getattr(node, "body", [])
    for before, item in zip([None, *body], body, strict=False):
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str):
            owner = prefix
            if isinstance(before, ast.Assign | ast.AnnAssign):
                owner = ".".join(filter(None, (prefix, re.sub(r"\W.*", "", ast.unparse(_target(before))))))
            yield owner, item.value.value
        elif isinstance(item, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _docstrings(item, ".".join(filter(None, (prefix, item.name))))


RULES: Mapping[str, Callable[[], Iterator[str]]] = {
    "crowded folders": crowded_folders,
    "import circles": import_circles,
    "large classes": large_classes,
    "branches on a database's name": database_branches,
    "riddling docstrings": riddling_docstrings,
    "headlines of modules": headlines,
}
