"""Share groups and streams groups in a browser: records in flight, topologies, tasks."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.browser.groups_of_members import Sharing, Streaming, sharing, streaming
from tests.differential.streams_side import StreamsSide

Look = Callable[..., Page]


@pytest.fixture
def shared(broker: Broker) -> Iterator[Sharing]:
    with sharing(broker) as found:
        yield found


@pytest.fixture
def streamed(broker: Broker) -> Iterator[Streaming]:
    with streaming(broker) as found:
        yield found


def test_records_in_flight(shared: Sharing, look: Look) -> None:
    page = look("groups/jobs")
    expect(page.get_by_text("6 records in flight")).to_be_visible()
    expect(page.get_by_text("accepted 3, released 2 and rejected 1")).to_be_visible()
    partitions = page.get_by_role("region", name="Partitions with records in flight")
    row = partitions.get_by_role("row").filter(has_text="jobs 0")
    expect(row.get_by_role("cell")).to_have_text(["0", "12", "8", "4", "2", "3", "1", ""])
    expect(row.get_by_role("img", name="2 acquired, 3 accepted")).to_be_visible()
    runs = page.get_by_role("region", name="Runs of records")
    expect(runs.get_by_role("row").filter(has_text="again")).to_contain_text("6 to 7")
    both = page.get_by_role("region", name="Partitions and members")
    expect(both.get_by_text("has it")).to_have_count(2)
    shared.side.say("a", [(0, 1, [1]), (8, 9, [1])], False)
    expect(page.get_by_text("2 records in flight")).to_be_visible()
    expect(page.get_by_text("accepted 7, released 2")).to_be_visible()


def test_tasks_of_members(streamed: Streaming, look: Look) -> None:
    page = look("groups/words")
    expect(page.get_by_text("6 tasks, 6 assigned, 4 standby, 0 warm-up.")).to_be_visible()
    topology = page.get_by_role("region", name="Subtopologies")
    expect(topology.get_by_role("row").nth(1)).to_contain_text("words-counts-changelog")
    members = page.get_by_role("region", name="Members and their tasks")
    first = members.get_by_role("row").nth(1)
    expect(first).to_contain_text("stable")
    expect(first.get_by_role("cell").nth(3)).to_contain_text("0_0")
    expect(page.get_by_role("button", name="Next")).to_have_count(0)
    streamed.join_many(60)
    expect(page.get_by_text("1 to 50 of 62 members")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("51 to 62 of 62 members")).to_be_visible()
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_text("1 to 50 of 62 members")).to_be_visible()


def test_a_topology_that_cannot_run(broker: Broker, look: Look) -> None:
    with streaming(broker, has_topic=False):
        page = look("groups/words")
        expect(page.get_by_role("alert")).to_contain_text("MISSING_SOURCE_TOPICS")
        expect(page.get_by_role("alert")).to_contain_text("Source topics text are missing.")
        expect(page.get_by_text("NotReady").first).to_be_visible()


def test_few_subtopologies_of_many_are_shown(broker: Broker, look: Look) -> None:
    kind = messages.StreamsGroupHeartbeatRequest.Subtopology
    parts = [kind(subtopology_id=f"{index:03}", source_topics=["text"]) for index in range(203)]
    with closing(StreamsSide(broker.port, "words")) as side:
        Streaming(side).join("first", *parts)
        page = look("groups/words")
        expect(page.get_by_text("3 more subtopologies are not shown.")).to_be_visible()
        rows = page.get_by_role("region", name="Subtopologies").get_by_role("row")
        expect(rows).to_have_count(201)
