"""Decides which Python functions a worker allows: those of the modules that its own file lists.

A function is code, and whoever may change a connector may name one: `os:system` would be a shell. Pure, but for the
last import.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

KEY: Final = "python.function.modules"
"""The worker's key that lists the modules."""


def is_allowed(module: str, allowed: Sequence[str]) -> bool:
    """Tell if a module is listed, or, where it is not one of Python's own, lies in a package that is listed."""
    if _is_pythons(module):
        return module in allowed
    return any(module == name or module.startswith(f"{name}.") for name in allowed)


def function_problem(function: str, allowed: Sequence[str]) -> str | None:
    """Return why a worker that allows these modules does not run `module:name`; None: it does. Imports nothing."""
    module, _, name = function.partition(":")
    if any(part.startswith("__") for part in name.split(".")):
        return "names with two underscores in front are Python's own"
    return None if is_allowed(module, allowed) else _refusal(module)


def load_function(function: str, allowed: Sequence[str]) -> Callable[..., Any]:
    """Return what `module:name` names, imported only where it is allowed.

    ValueError: it is not, or it is defined in a module that is not (`module:os.system`, `from os import system`), or it
    is no function. ImportError, AttributeError: there is none.
    """
    problem = function_problem(function, allowed)
    if problem:
        raise ValueError(problem)
    module, _, name = function.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
        home = _home(found, module)
        if home is not None and not is_allowed(home, allowed):
            raise ValueError(_refusal(home))
    if not callable(found):
        raise ValueError("it is no function")  # noqa: TRY004 - of the text that names it
    called: Callable[..., Any] = found
    return called


def _home(found: Any, module: str) -> str | None:
    """Return the module that defines what was found in `module`.

    None: a value, which is of the module that holds it.
    """
    if isinstance(found, ModuleType):
        return found.__name__
    if _is_pythons(module):
        # Much of Python's own is written in another module than it is offered by, as os.system in posix.
        return None
    return getattr(found, "__module__", None) if hasattr(found, "__qualname__") else None


def _refusal(module: str) -> str:
    how = "by its full name" if _is_pythons(module) else "or its package"
    return f"this worker allows no functions of the module {module}. List it, {how}, in the worker's {KEY}"


def _is_pythons(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names
