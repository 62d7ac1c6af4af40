"""Share sessions of very many partitions: their requests are large ones, however short they are."""

import asyncio
import gc

import pytest

from broker_lite.errors import BrokerError
from broker_lite.handler.share import fetch, sessions
from broker_lite.wire import messages
from tests.handler.share.share_requests import Sharer, acquired, run
from tests.support.handler_broker import HandlerBroker

COUNT = 20


@pytest.fixture
def sharer(broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch) -> Sharer:
    """A member with a session that counts as a long one, of partitions that do not exist."""
    monkeypatch.setattr(fetch, "_LONG_SESSION", COUNT - 1)
    sharer = Sharer(broker)
    sharer.beat()
    assert {each.error_code for each in sharer.fetch(partitions=range(1, COUNT + 1)).values()} == {
        3
    }
    return sharer


async def some_turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.as_written
def test_a_short_request_waits_for_the_large_one_before_it(sharer: Sharer) -> None:
    lane = sharer.broker.context.lane

    async def scene() -> None:
        await lane.enter()
        asked = asyncio.create_task(sharer.fetch_later())
        await some_turns()
        assert not asked.done()
        lane.leave()
        assert len(await asked) == COUNT
        # it has left the lane
        await asyncio.wait_for(lane.enter(), 10)
        lane.leave()

    run(scene())


@pytest.mark.as_written
def test_large_ones_go_on_while_it_waits_for_records(sharer: Sharer) -> None:
    lane = sharer.broker.context.lane

    async def scene() -> None:
        asked = asyncio.create_task(sharer.fetch_later(partitions=[0], max_wait_ms=60_000))
        await some_turns()
        await lane.enter()
        sharer.append(3)
        # nor does it wait for them, because its locks have begun
        answer = await asyncio.wait_for(asked, 10)
        assert acquired(answer) == [(0, 2, 1)]
        assert len(answer) == COUNT + 1
        lane.leave()

    run(scene())


def test_refused_partitions_leave_nothing_for_the_garbage_collector(sharer: Sharer) -> None:
    """The collector is off while a large request is worked on, and what is left then is kept."""

    def refusals() -> int:
        return sum(isinstance(each, BrokerError) for each in gc.get_objects())

    gc.collect()
    before = refusals()
    gc.disable()
    try:
        assert len(sharer.fetch(said={1: [(0, 0, [1])]})) == COUNT
        assert refusals() == before
    finally:
        gc.enable()


@pytest.mark.usefixtures("short_turns")
def test_others_have_their_turn_while_partitions_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "_LISTED_AT_A_TIME", 2)

    async def scene() -> None:
        kind = messages.ShareFetchRequest
        topics = [(b"a" * 16, list(range(5))), (b"b" * 16, list(range(3)))]
        body = kind(
            topics=[
                kind.FetchTopic(
                    topic_id=topic_id,
                    partitions=[kind.FetchPartition(partition_index=each) for each in some],
                )
                for topic_id, some in topics
            ],
            forgotten_topics_data=[
                kind.ForgottenTopic(topic_id=topic_id, partitions=some) for topic_id, some in topics
            ],
        )
        for listed_by in (sessions._named_by, sessions._forgotten_by):
            listing = asyncio.create_task(listed_by(body))
            for _ in range(4):
                await asyncio.sleep(0)
                assert not listing.done()
            listed = await listing
            assert listed == [(topic_id, each) for topic_id, some in topics for each in some]

    run(scene())
