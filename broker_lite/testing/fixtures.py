"""The fixtures of the pytest plugin, resets between tests, and logs in reports of failures.

    broker            a broker for the session, ready
    broker_settings   its settings, by Kafka's names; override it for other ones
    broker_factory    makes further brokers, which are stopped when the test ends
    topic             the name of a fresh topic of one partition in `broker`
    make_batch        builds record batches, see broker_lite.testing.make_batch

A project's own fixtures of these names go first, as with every plugin.
"""

import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

if TYPE_CHECKING:
    from broker_lite.testing.broker import Broker

_SECTION: Final = "broker-lite log"
_END_SECTION: Final = "broker-lite"
_SECTION_BYTES_MAX: Final = 64 * 1024
_TOPIC_NAME_MAX: Final = 200
_OF_BROKER: Final = frozenset(
    {"topics", "seed_file", "config", "data_dir", "host", "port", "timeout_s"}
)

_SESSION_BROKER: Final = pytest.StashKey["Broker"]()
_LOG_SIZES: Final = pytest.StashKey[dict[Path, int]]()


class BrokerFactory(Protocol):
    """Starts a broker: settings with dots as underscores, and what Broker takes."""

    def __call__(self, settings: dict[str, object] | None = None, /, **options: object) -> "Broker":
        """Start one."""


# -- fixtures


@pytest.fixture(scope="session")
def broker_settings(pytestconfig: pytest.Config) -> dict[str, object]:
    """Settings of the session's broker: those of `broker_lite_settings`, unless overridden."""
    settings: dict[str, object] = {}
    for line in pytestconfig.getini("broker_lite_settings"):
        name, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"broker_lite_settings: {line}: write NAME=VALUE")
        settings[name.strip()] = value.strip()
    return settings


@pytest.fixture(scope="session")
def broker(broker_settings: dict[str, object], pytestconfig: pytest.Config) -> Iterator["Broker"]:
    """A broker that runs for the whole session; with pytest-xdist, of each worker."""
    from broker_lite.testing.broker import Broker

    with Broker(broker_settings) as started:
        pytestconfig.stash[_SESSION_BROKER] = started
        yield started
        del pytestconfig.stash[_SESSION_BROKER]


@pytest.fixture
def broker_factory() -> Iterator[BrokerFactory]:
    """A function that starts a broker; all of them are stopped when the test ends.

    It takes what Broker takes, and settings as keywords: log_segment_bytes is log.segment.bytes.
    """
    from broker_lite.testing.broker import Broker

    with ExitStack() as brokers:

        def make(settings: dict[str, object] | None = None, /, **options: object) -> Broker:
            own: dict[str, Any] = {name: options.pop(name) for name in _OF_BROKER & options.keys()}
            named = {name.replace("_", "."): value for name, value in options.items()}
            return brokers.enter_context(Broker({**(settings or {}), **named}, **own))

        yield make


@pytest.fixture
def topic(broker: "Broker", request: pytest.FixtureRequest) -> str:
    """The name of a topic that was made for this test, with one partition and no records."""
    from uuid import uuid4

    test = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name)[:_TOPIC_NAME_MAX].strip("-")
    name = f"{test}-{uuid4().hex[:8]}"
    broker.create_topic(name)
    return name


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., bytes]:
    """The function that writes record batches."""
    from broker_lite.testing.batches import make_batch

    return make_batch


# -- hooks


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin anew where that is wanted, and note where the logs of this test begin."""
    started = _broker_of(item)
    if started is not None:
        _begin_again_if_ended(started, item)
        mark = item.get_closest_marker("broker_reset")
        if mark is None:
            is_wanted = bool(item.config.getini("broker_lite_reset"))
        else:
            is_wanted = bool(mark.args[0] if mark.args else mark.kwargs.get("wanted", True))
        if is_wanted:
            started.reset()
    item.stash[_LOG_SIZES] = {path: path.stat().st_size for path in _logs()}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what brokers have logged since the test's begin into the report of a failure."""
    report = yield
    if report.failed:
        started = _broker_of(item)
        end = None if started is None else _end_of(started)
        if end is not None:
            report.sections.append((_END_SECTION, end))
        sizes = item.stash.get(_LOG_SIZES, {})
        for path in _logs():
            text = _read(path, sizes.get(path, 0))
            if text:
                report.sections.append((f"{_SECTION} ({path.stem})", text))
    return report


def _broker_of(item: pytest.Item) -> "Broker | None":
    """The session's broker if it has been started and the test uses it."""
    started = item.config.stash.get(_SESSION_BROKER, None)
    return started if "broker" in getattr(item, "fixturenames", ()) else None


def _end_of(broker: "Broker") -> str | None:
    """One line about a broker that does not run."""
    from broker_lite.testing.forks import BrokerFailed

    try:
        _ = broker.pid
    except BrokerFailed as reason:
        return str(reason)
    return None


def _begin_again_if_ended(broker: "Broker", item: pytest.Item) -> None:
    """Have the session go on when a test, or somebody else, has ended its broker.

    That is a line of pytest's summary of warnings, and never an error of the test that comes next.
    """
    end = _end_of(broker)
    if end is None:
        return
    broker.restart()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = f"{end}; before this test it was started again at the same port, with what it had"
        warnings.warn(pytest.PytestWarning(text), stacklevel=1)
    item.ihook.pytest_warning_recorded.call_historic(
        kwargs={
            "warning_message": caught[0],
            "when": "runtest",
            "nodeid": item.nodeid,
            "location": None,
        }
    )


def _logs() -> list[Path]:
    """The logs of this process's brokers by age; nothing is imported where there was none."""
    forks = sys.modules.get("broker_lite.testing.forks")
    running = None if forks is None else forks.running_forks()
    logs = () if running is None else running.root.glob("*.log")
    return sorted(logs, key=lambda path: (len(path.name), path.name))  # they are numbered


def _read(path: Path, start: int) -> str:
    """The text of a log from a position on, its last part when that is long."""
    with path.open("rb") as log:
        size_bytes = log.seek(0, 2) - start
        left_out = max(size_bytes - _SECTION_BYTES_MAX, 0)
        log.seek(start + left_out)
        text = log.read().decode(errors="replace")
    return f"[{left_out} bytes left out]\n{text}" if left_out else text
