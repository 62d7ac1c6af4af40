"""What the pytest plugin does with scripts: the mark `broker_script`, and `--broker-lite-keep`."""

import re
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from broker_lite.testing.pytest_plugin.fixtures import _brokers_of

_SECTION: Final = "broker-lite script"
_NAME_MAX: Final = 200
_RECORDS: Final = pytest.StashKey[list[dict[str, object]]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Keep the records of scripts while the test runs, if they may be wanted."""
    if item.config.getoption("broker_lite_keep") is None:
        return (yield)
    from broker_lite.testing.scripts import keeping_records

    with keeping_records() as records:
        item.stash[_RECORDS] = records
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Run the scripts that the test is marked with; one that does not go as it says fails it."""
    __tracebackhide__ = True
    marks = [*item.iter_markers("broker_script")]
    if not marks:
        return (yield)
    brokers = _brokers_of(item)
    if not brokers:
        raise pytest.UsageError("broker_script needs the fixture broker or broker_cluster")
    with ExitStack() as stack:
        for mark in reversed(marks):
            (source,) = mark.args
            if not isinstance(source, dict):
                source = item.path.parent / source
            for broker in brokers:
                stack.enter_context(broker.script(source, **mark.kwargs))
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write the records of a failed test's scripts, and name the files in its report."""
    report = yield
    records = item.stash.get(_RECORDS, [])
    if report.failed and records:
        from broker_lite.testing.scripts import write_record

        directory = Path(item.config.getoption("broker_lite_keep"))
        directory.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^a-zA-Z0-9._-]+", "-", item.nodeid).strip("-")[-_NAME_MAX:]
        for number, record in enumerate(records, 1):
            end = "" if number == 1 else f"-{number}"
            path = directory / f"{name}{end}.brokerlite"
            write_record(record, path)
            told = f"{path}: broker.script() and `serve --script` repeat its decisions"
            report.sections.append((_SECTION, told))
        records.clear()
    return report
