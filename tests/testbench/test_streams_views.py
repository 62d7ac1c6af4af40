"""A streams group as it is told: pages of members, and topologies that are configured once."""

import asyncio
from typing import Any

import pytest

from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.testbench import streams_views
from broker_lite.testbench.streams_views import ConfiguredTopologies, StreamsView, streams_view
from tests.coordinator.streams.streams_driver import Driver, subtopology, topology
from tests.testbench.conftest import Others

COUNT = 40


def view_of(group: StreamsGroup, known: ConfiguredTopologies | None = None, **page: Any) -> Any:
    return asyncio.run(streams_view(group, known or ConfiguredTopologies(), **page))


def ids(view: StreamsView) -> list[str]:
    return [each.id for each in view.members]


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The topologies that were configured."""
    found: list[object] = []
    original = streams_views.configure_in_steps

    def noted(told: Any, topics: Any) -> Any:
        found.append(told)
        return original(told, topics)

    monkeypatch.setattr(streams_views, "configure_in_steps", noted)
    return found


def test_a_page_goes_on_behind_a_member_that_has_left() -> None:
    driver = Driver(t=4)
    for member in "cabd":
        driver.join(member)
    assert ids(view_of(driver.group, limit=2)) == ["a", "b"]
    driver.beat("b", -1)
    assert ids(view_of(driver.group, after="b", limit=2)) == ["c", "d"]
    assert ids(view_of(driver.group, after="d")) == []


def test_others_run_after_each_member_and_subtopology(others: Others) -> None:
    parts = [subtopology(f"s{index}", f"t{index}") for index in range(COUNT)]
    driver = Driver(**{f"t{index}": 1 for index in range(COUNT)})
    for index in range(COUNT):
        driver.join(f"m{index}", topology(*parts))
    look = streams_view(driver.group, ConfiguredTopologies())
    assert asyncio.run(others.while_running(look)) >= 2 * COUNT


def test_a_topology_is_configured_once_while_its_topics_stay(configured: list[object]) -> None:
    driver, known = Driver(t=4), ConfiguredTopologies()
    driver.join("a")
    driver.follow("a")
    assert driver.group.configured is not None
    assert view_of(driver.group, known).tasks == 4
    assert configured == []
    driver.group.configured = None  # as after a start
    for _ in range(3):
        assert view_of(driver.group, known).tasks == 4
    assert len(configured) == 1
    driver.topics_grow(t=6)
    driver.group.configured = None
    assert view_of(driver.group, known).tasks == 6
    assert len(configured) == 2


def test_a_topology_that_is_refused_has_no_tasks(configured: list[object]) -> None:
    driver, known = Driver(t=4), ConfiguredTopologies()
    driver.join("a")
    driver.topics_grow(t=5001)
    driver.group.configured = None
    for _ in range(2):
        view = view_of(driver.group, known)
        assert (view.tasks, view.problem, len(view.subtopologies)) == (None, "", 1)
    assert len(configured) == 1


def test_few_topologies_are_kept(configured: list[object]) -> None:
    known, groups = ConfiguredTopologies(), []
    for index in range(9):
        driver = Driver(t=1)
        driver.join("a")
        driver.group.group_id = f"g{index}"
        driver.group.configured = None
        groups.append(driver.group)
        view_of(driver.group, known)
    view_of(groups[8], known)
    view_of(groups[1], known)
    assert len(configured) == 9
    view_of(groups[0], known)
    assert len(configured) == 10


def test_a_group_without_a_topology() -> None:
    group = Driver().group
    view = view_of(group)
    assert (view.subtopologies, view.tasks, view.topology_epoch) == ([], None, None)
