"""Decides which Python functions a worker allows: those of modules that its own file lists.

A function is code, and everybody who may change a connector may name one: `os:system` would be a shell. Pure, except
that a function that is allowed is imported.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

KEY: Final = "python.function.modules"
"""This key of the worker lists the modules."""


def is_allowed(module: str, allowed: Sequence[str]) -> bool:
    """Tell if a module is listed, or is in a listed package; modules of Python itself must be listed by their full
    names.
    """
    if _is_pythons(module):
        return module in allowed
    return any(module == name or module.startswith(f"{name}.") for name in allowed)


def function_problem(function: str, allowed: Sequence[str]) -> str | None:
    """Return why a worker that allows these modules does not run `module:name`; None if it does. Nothing is
    imported.
    """
    module, _, name = function.partition(":")
    if any(part.startswith("__") for part in name.split(".")):
        return "names with two underscores in front are Python's own"
    return None if is_allowed(module, allowed) else _refusal(module)


def load_function(function: str, allowed: Sequence[str]) -> Callable[..., Any]:
    """Return the function that `module:name` names; its module is only imported if it is allowed.

    ValueError: the module is not allowed, the function is defined in a module that is not (`module:os.system`, `from os
    import system`), or the name is no function's. ImportError, AttributeError: there is no such name.
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
    """Return the module that defines what was found in `module`; None for a value that belongs to the module that holds
    it.
    """
    if isinstance(found, ModuleType):
        return found.__name__
    if _is_pythons(module):
        # Many functions of Python itself are defined in another module than they are offered by, as os.system in posix.
        return None
    return getattr(found, "__module__", None) if hasattr(found, "__qualname__") else None


def _refusal(module: str) -> str:
    how = "by its full name" if _is_pythons(module) else "or its package"
    return f"this worker allows no functions of the module {module}. List it, {how}, in the worker's {KEY}"


def _is_pythons(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names
