"""Checks what holds for every connector: its declaration, its errors, its secrets.

The base of SourceSuite and SinkSuite.
"""

from __future__ import annotations

import inspect
import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

import pytest
from pydantic import ValidationError

from connect.api.allowed import ConfigType
from connect.api.config import KeyDefinition
from connect.api.errors import ConfigError, ConnectError
from connect.api.plugin import Capability, Plugin
from connect.lib.deadline import Deadline
from connect.testing.drivers import Breakable
from connect.testing.source_run import build_connector, leave_everywhere
from connect.testing.task_thread import TaskThread

CANARY = "c4n4ry-s3cr3t-v4lue"
KEY_NAME = re.compile(r"[a-z][a-z0-9]*(?:[.\-_][a-z0-9]+)*")
_Test = TypeVar("_Test", bound=Callable[..., None])
_V = TypeVar("_V")
_SHARED = pytest.StashKey[dict[tuple[str, str], Any]]()


def requires(*needs: Capability | type) -> Callable[[_Test], _Test]:
    """Skip the test unless the plug-in declares the capability and the driver has the protocol's methods."""

    def mark(test: _Test) -> _Test:
        test.__dict__["needs"] = needs
        return test

    return mark


class ConnectorSuite:
    """Inherit SourceSuite or SinkSuite instead.

    `plugin`: the declaration. `driver`: an instance, or a pytest fixture of that name where a service is needed.
    `waivers`: test name -> reason; such a test must fail, so a fixed bug makes its stale waiver fail.
    `patience_s`: how long all rows of a test may take.
    """

    plugin: ClassVar[Plugin]
    driver: ClassVar[Any]
    waivers: ClassVar[Mapping[str, str]] = {}
    patience_s: ClassVar[float] = 20.0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        unknown = [name for name in cls.waivers if not callable(getattr(cls, name.partition("[")[0], None))]
        if unknown:
            raise TypeError(f"{cls.__name__} waives tests that do not exist: {', '.join(unknown)}.")

    @pytest.fixture
    def system(self, request: pytest.FixtureRequest) -> Any:
        """Return the driver, over an empty external system."""
        given = inspect.getattr_static(type(self), "driver", None)
        driver = given if hasattr(given, "reset") else request.getfixturevalue("driver")
        driver.reset()
        return driver

    @pytest.fixture(autouse=True)
    def _promises(self, request: pytest.FixtureRequest, system: Any) -> None:
        for need in getattr(request.function, "needs", ()):
            if isinstance(need, Capability):
                if need not in self.plugin.capabilities:
                    pytest.skip(f"{self.plugin.name} does not declare {need.name}")
            elif not isinstance(system, need):
                pytest.skip(f"{type(system).__name__} is no {need.__name__} driver")
        reason = self.waivers.get(request.node.name) or self.waivers.get(request.node.originalname)
        if reason is not None:
            request.applymarker(pytest.mark.xfail(strict=True, reason=reason))

    @pytest.fixture(autouse=True)
    def _shared_by_tests(self, request: pytest.FixtureRequest) -> None:
        assert request.node.parent is not None
        self._shared = request.node.parent.stash.setdefault(_SHARED, {})
        self._parameters = request.node.name.removeprefix(request.node.originalname)

    def once(self, what: str, make: Callable[[], _V]) -> _V:
        """Return what `make` returned to the first test of the class that asked with the same parameters.

        An error that `make` raises is not kept: the next test tries again.
        """
        key = (what, self._parameters)
        if key not in self._shared:
            self._shared[key] = make()
        return cast("_V", self._shared[key])

    def exercise(self, config: Mapping[str, str], system: Any) -> None:
        """Run one short life of a task; the suites of sources and sinks say what it does."""
        raise NotImplementedError

    def test_the_documented_example_validates(self, system: Any) -> None:
        parsed = self.plugin.config.parse(leave_everywhere(system.config()))
        wrong = [value for value in self.plugin.config.validate_keys(leave_everywhere(system.config())) if value.errors]
        assert not wrong, f"The driver's config has errors: {wrong}"
        assert parsed.originals, "The parsed configuration lost its originals."

    def test_each_required_key_is_missed_by_name(self, system: Any) -> None:
        required = [d.name for d in self.plugin.config.definitions() if d.required]
        for name in required:
            problems = self._problems({k: v for k, v in system.config().items() if k != name})
            assert name in problems, f"Without {name} the errors name {sorted(problems)}, not {name}."
        missed = self._problems({k: v for k, v in system.config().items() if k not in required})
        assert set(required) <= set(missed), (
            f"All broken keys at once: {sorted(set(required) - set(missed))} not named."
        )

    def test_defaults_validate(self, system: Any) -> None:
        for definition in self.plugin.config.definitions():
            if definition.default is None or definition.type is ConfigType.PASSWORD:
                continue
            try:
                self.plugin.config.model_validate({**system.config(), definition.name: definition.default})
            except ValidationError as error:
                broken = [e["msg"] for e in error.errors(include_input=False) if definition.name in e["loc"]]
                assert not broken, f"The default {definition.default!r} of {definition.name} is refused: {broken}"

    def test_definitions_are_complete(self) -> None:
        definitions = self.plugin.config.definitions()
        names = [d.name for d in definitions]
        assert len(names) == len(set(names)), f"Declared twice: {sorted({n for n in names if names.count(n) > 1})}"
        lacking = {d.name: lacks for d in definitions if not d.internal and (lacks := list(_lacks(d)))}
        assert not lacking, f"Definitions lack: {lacking}"

    def test_key_names_are_lower_case_and_dotted(self) -> None:
        odd = [d.name for d in self.plugin.config.definitions() if not KEY_NAME.fullmatch(d.name)]
        assert not odd, f"Keys are lower-case words joined by dots, as in batch.max.rows; these are not: {odd}"

    def test_tasks_are_at_most_as_many_as_asked_for(self, system: Any) -> None:
        thread = TaskThread("plan")
        try:
            connector = thread.call("factory", lambda: build_connector(self.plugin, system.config()))
            for most in (1, 3):
                configs = thread.call("task_configs", partial(connector.task_configs, most))
                assert 1 <= len(configs) <= most, f"task_configs({most}) gave {len(configs)} tasks."
                values = {k: v for config in configs for k, v in config.items() if not isinstance(v, str)}
                assert not values, f"Task configurations hold text only, not {values}"
        finally:
            thread.end()

    def test_check_accepts_a_working_configuration(self, system: Any) -> None:
        self._check(system)

    @requires(Breakable)
    def test_check_refuses_a_system_that_cannot_be_reached(self, system: Any) -> None:
        system.break_connection()
        try:
            with pytest.raises(ConnectError):
                self._check(system)
        finally:
            system.heal()

    def test_no_secret_in_any_output(
        self, system: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        caplog.set_level(logging.DEBUG)
        for name, value in _secret_values(self.plugin.config.definitions()):
            config = {**system.config(), name: value}
            for where, text in self._outputs(config, system):
                assert CANARY not in text, f"The value of {name} is shown in {where}: {text.replace(CANARY, '***')}"
            shown = [r.getMessage() + str(r.exc_text or "") for r in caplog.records] + [*capfd.readouterr()]
            leaked = [text for text in shown if CANARY in text]
            assert not leaked, f"The value of {name} is written to the log: {leaked[0].replace(CANARY, '***')}"

    def _check(self, system: Any) -> None:
        thread = TaskThread("check")
        try:
            connector = thread.call("factory", lambda: build_connector(self.plugin, system.config()))
            thread.call("check", lambda: connector.check(Deadline.after(self.patience_s)), limit_s=2 * self.patience_s)
        finally:
            thread.end()

    def _outputs(self, config: Mapping[str, str], system: Any) -> Iterator[tuple[str, str]]:
        """Yield everything a person could see of this configuration, with where it comes from."""
        yield "validation", repr(self.plugin.config.validate_keys(leave_everywhere(config)))
        for name, broken in _broken_configs(config, self.plugin.config.definitions()):
            yield f"the validation of a bad {name}", repr(self.plugin.config.validate_keys(leave_everywhere(broken)))
            yield f"the error of a bad {name}", _raised(partial(self.plugin.config.parse, broken))
        try:
            parsed = self.plugin.config.parse(leave_everywhere(config))
        except ConfigError:
            return
        yield "the configuration's repr", f"{parsed!r} {parsed}"
        thread = TaskThread("secrets")
        try:
            connector = thread.call("factory", lambda: build_connector(self.plugin, config))
            yield "the connector's repr", repr(connector)
            yield (
                "the error of check",
                _raised(lambda: thread.call("check", lambda: connector.check(Deadline.after(5.0)))),
            )
        finally:
            thread.end()
        yield "the error of a task", _raised(lambda: self.exercise(config, system))

    def _problems(self, config: Mapping[str, str]) -> dict[str, str]:
        try:
            self.plugin.config.parse(leave_everywhere(config))
        except ConfigError as error:
            return {p.key: p.message for p in error.problems}
        return {}


def _lacks(definition: KeyDefinition) -> Iterator[str]:
    if len(definition.doc.split()) < 3:
        yield "a doc of at least one sentence"
    if not definition.group:
        yield "a group"
    if definition.importance not in {"HIGH", "MEDIUM", "LOW"}:
        yield "an importance of HIGH, MEDIUM or LOW"
    if not definition.display_name:
        yield "a display name"


def _broken_configs(
    config: Mapping[str, str], definitions: tuple[KeyDefinition, ...]
) -> Iterator[tuple[str, dict[str, str | None]]]:
    for definition in definitions:
        if definition.required:
            yield definition.name, {k: v for k, v in config.items() if k != definition.name}
        if definition.type is not ConfigType.PASSWORD:
            yield definition.name, {**config, definition.name: "\0 neither number nor name"}


def _secret_values(definitions: tuple[KeyDefinition, ...]) -> Iterator[tuple[str, str]]:
    """Yield keys with values that hold the canary.

    They are every secret, every URL in two forms, and a key that nobody declares.
    """
    for definition in definitions:
        if definition.type is ConfigType.PASSWORD:
            yield definition.name, CANARY
        elif definition.has_credentials:
            yield definition.name, f"http://kit:{CANARY}@127.0.0.1:1/"
            yield definition.name, f"http://127.0.0.1:1/?user=kit&password={CANARY}"
    yield "kit.undeclared.password", CANARY


def _raised(run: Callable[[], object]) -> str:
    """Return the whole trace of what `run` raises, causes and notes included; empty when it raises nothing."""
    try:
        run()
    except Exception as error:  # noqa: BLE001 - the text of any error is what is looked at
        return "".join(traceback.format_exception(error)) + repr(error)
    return ""
