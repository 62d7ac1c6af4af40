"""The fixtures of the pytest plugin, what happens between tests, and reports of failures.

    broker            a broker for the session, ready
    broker_settings   its settings, by Kafka's names; override it to change them
    broker_cluster    a cluster of three brokers for the session, whole before each test
    broker_factory    makes further brokers, which are stopped when the test ends
    topic             the name of a fresh topic of one partition in `broker`
    make_batch        builds record batches, see broker_lite.testing.make_batch

As with every plugin, a project's own fixtures of these names win.
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
_REQUESTS_SECTION: Final = "broker-lite requests"
_RECORDINGS: Final = ("headers", "bodies", "off")
_SECTION_BYTES_MAX: Final = 64 * 1024
_TOPIC_NAME_MAX: Final = 200
_OF_BROKER: Final = frozenset(
    {
        *("topics", "seed_file", "config", "data_dir", "host", "port", "timeout_s"),
        *("brokers", "racks", "client_properties"),
        *("security", "users", "san", "security_only"),
    }
)

_SESSION_BROKER: Final = pytest.StashKey["Broker"]()
_SESSION_CLUSTER: Final = pytest.StashKey["Broker"]()
_MADE: Final = pytest.StashKey[list["Broker"]]()
_LOG_SIZES: Final = pytest.StashKey[dict[Path, int]]()


class BrokerFactory(Protocol):
    """Starts a broker; takes settings with underscores for dots, and the arguments of Broker."""

    def __call__(self, settings: dict[str, object] | None = None, /, **options: object) -> "Broker":
        """Start a broker."""


# -- fixtures


@pytest.fixture(scope="session")
def broker_settings(pytestconfig: pytest.Config) -> dict[str, object]:
    """Return the settings of the session's broker, from `broker_lite_settings`."""
    settings: dict[str, object] = {}
    for line in pytestconfig.getini("broker_lite_settings"):
        name, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"broker_lite_settings: {line}: write NAME=VALUE")
        settings[name.strip()] = value.strip()
    return settings


@pytest.fixture(scope="session")
def broker(broker_settings: dict[str, object], pytestconfig: pytest.Config) -> Iterator["Broker"]:
    """Start a broker for the whole session; with pytest-xdist, one per worker."""
    from broker_lite.testing.broker import Broker

    security = pytestconfig.getini("broker_lite_security")
    with Broker(broker_settings, security=security) as started:
        _prepare(started, pytestconfig)
        pytestconfig.stash[_SESSION_BROKER] = started
        yield started
        del pytestconfig.stash[_SESSION_BROKER]


@pytest.fixture(scope="session")
def broker_cluster(
    broker_settings: dict[str, object], pytestconfig: pytest.Config
) -> Iterator["Broker"]:
    """Start a cluster of three brokers for the whole session.

    A broker that goes down is noticed at once. Before each test all brokers are up, all replicas
    have all records, and preferred replicas lead.
    """
    from broker_lite.testing.broker import Broker

    settings = {"broker.session.timeout.ms": 0, **broker_settings}
    security = pytestconfig.getini("broker_lite_security")
    with Broker(settings, brokers=3, security=security) as started:
        _prepare(started, pytestconfig)
        pytestconfig.stash[_SESSION_CLUSTER] = started
        yield started
        del pytestconfig.stash[_SESSION_CLUSTER]


@pytest.fixture
def broker_factory(request: pytest.FixtureRequest) -> Iterator[BrokerFactory]:
    """Return a function that starts brokers; all of them stop when the test ends.

    It takes the arguments of Broker, and settings as keywords: log_segment_bytes is
    log.segment.bytes.
    """
    from broker_lite.testing.broker import Broker

    made: list[Broker] = request.node.stash.setdefault(_MADE, [])
    with ExitStack() as brokers:

        def make(settings: dict[str, object] | None = None, /, **options: object) -> Broker:
            own: dict[str, Any] = {name: options.pop(name) for name in _OF_BROKER & options.keys()}
            named = {name.replace("_", "."): value for name, value in options.items()}
            started = brokers.enter_context(Broker({**(settings or {}), **named}, **own))
            made.append(started)
            return started

        yield make


@pytest.fixture
def topic(broker: "Broker", request: pytest.FixtureRequest) -> str:
    """Create a topic for the test, with one partition and no records; return its name."""
    from uuid import uuid4

    test = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name)[:_TOPIC_NAME_MAX].strip("-")
    name = f"{test}-{uuid4().hex[:8]}"
    broker.create_topic(name)
    return name


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., bytes]:
    """Return the function that builds record batches."""
    from broker_lite.testing.batches import make_batch

    return make_batch


# -- hooks


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Make the broker as new as is wanted, and note where the log of this test begins."""
    for started in _brokers_of(item):
        _begin_again_if_ended(started, item)
        if len(started.addresses) > 1:
            started.heal()
        mark = item.get_closest_marker("broker_reset")
        if mark is None:
            is_wanted = bool(item.config.getini("broker_lite_reset"))
        else:
            is_wanted = bool(mark.args[0] if mark.args else mark.kwargs.get("wanted", True))
        if is_wanted:
            started.reset()
        _prepare(started, item.config)
        _restore(started, item)
    item.stash[_LOG_SIZES] = {path: path.stat().st_size for path in _logs()}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Put the faults in force that the test is marked with; one that does not act fails it."""
    __tracebackhide__ = True
    marks = [item.get_closest_marker(name) for name in ("broker_fault", "broker_snapshot")]
    if not any(marks):
        return (yield)
    from broker_lite.testing.pytest_plugin.between_tests import check_snapshot, faults_of

    brokers = _brokers_of(item)
    if not brokers:
        pytest.fail("a test with this mark has to use `broker` or `broker_cluster`", pytrace=False)
    check_snapshot(item, brokers)
    with faults_of(item, brokers):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failure what brokers have logged during the test."""
    report = yield
    if report.failed:
        for started in _brokers_of(item):
            end = _end_of(started)
            if end is not None:
                report.sections.append((_END_SECTION, end))
        for started in (*_brokers_of(item), *item.stash.get(_MADE, [])):
            _add_requests(report, started)
        sizes = item.stash.get(_LOG_SIZES, {})
        for path in _logs():
            text = _read(path, sizes.get(path, 0))
            if text:
                report.sections.append((f"{_SECTION} ({path.stem})", text))
    return report


def _prepare(broker: "Broker", config: pytest.Config) -> None:
    """Clear a broker's faults and recorded requests, and let it record."""
    from broker_lite.testing.pytest_plugin.between_tests import prepare

    recording = config.getini("broker_lite_requests")
    if recording not in _RECORDINGS:
        told = f"broker_lite_requests: {recording}: write {', '.join(_RECORDINGS)}"
        raise pytest.UsageError(told)
    prepare(broker, recording)


def _restore(broker: "Broker", item: pytest.Item) -> None:
    """Put the snapshot back that a test is marked with.

    There may be none yet: a fixture of the first test that is marked with it saves it.
    """
    mark = item.get_closest_marker("broker_snapshot")
    if mark is not None:
        from broker_lite.testing.pytest_plugin.between_tests import restore

        restore(broker, *mark.args, **mark.kwargs)


def _add_requests(report: pytest.TestReport, broker: "Broker") -> None:
    """Add the last requests of a broker to the report of a failure."""
    from broker_lite.testing.pytest_plugin.between_tests import lines

    text = lines(broker)
    if text:
        report.sections.append((_REQUESTS_SECTION, text))


def _brokers_of(item: pytest.Item) -> "list[Broker]":
    """Return those of the session's brokers that were started and that the test uses."""
    used = getattr(item, "fixturenames", ())
    keys = {"broker": _SESSION_BROKER, "broker_cluster": _SESSION_CLUSTER}
    started = (item.config.stash.get(key, None) for name, key in keys.items() if name in used)
    return [each for each in started if each is not None]


def _end_of(broker: "Broker") -> str | None:
    """Return a line about a broker that does not run; None if it runs."""
    from broker_lite.testing.processes.forks import BrokerFailed

    try:
        _ = broker.pid
    except BrokerFailed as reason:
        return str(reason)
    return None


def _begin_again_if_ended(broker: "Broker", item: pytest.Item) -> None:
    """Restart the session's broker if a test, or somebody else, has ended it.

    It is reported as a warning in pytest's summary, and never as an error of the next test.
    """
    end = _end_of(broker)
    if end is None:
        return
    broker.restart()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = f"{end}; before this test it was restarted at the same port, with its data"
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
    """List the logs of this process's brokers by age; without brokers, nothing is imported."""
    forks = sys.modules.get("broker_lite.testing.processes.forks")
    running = None if forks is None else forks.running_forks()
    logs = () if running is None else running.root.glob("*.log")
    return sorted(logs, key=lambda path: (len(path.name), path.name))  # they are numbered


def _read(path: Path, start: int) -> str:
    """Read a log from a position on; only the last part if it is long."""
    with path.open("rb") as log:
        size_bytes = log.seek(0, 2) - start
        left_out = max(size_bytes - _SECTION_BYTES_MAX, 0)
        log.seek(start + left_out)
        text = log.read().decode(errors="replace")
    return f"[{left_out} bytes left out]\n{text}" if left_out else text
