"""Which answers tell the client of a session something new: F-44, F-45."""

import anyio
import pytest

from broker_lite.handler.fetch.look import look_at_few, terms_of
from broker_lite.handler.fetch.news import news_of, remember_all
from broker_lite.handler.fetch.partition import FetchPartitions
from broker_lite.handler.fetch.read import FetchRead
from broker_lite.wire import messages
from broker_lite.wire.fetch_request import decode_fetch_request
from tests.handler.data_apis import TOPIC, Handlers, wanted
from tests.log.batches import batch, record

BATCH = batch(record())


class _Session:
    """The partitions 0 and 1, which are read again and again."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        value = handlers.fetch_request(wanted(0), wanted(1))
        body = decode_fetch_request(memoryview(messages.FetchRequest.encode(value, 12)), 12, 0)
        self._terms = terms_of(handlers.context, body, 12)
        self.partitions = FetchPartitions()
        for each in body.topics[0][1]:
            self.partitions.want(TOPIC, each)

    def look(self) -> FetchRead:
        return look_at_few(self._handlers.cluster, self._terms, self.partitions.pending())

    def news(self) -> list[int]:
        answers = anyio.run(news_of, self.partitions, self.look(), 0)
        return [each.index for each in answers]


@pytest.fixture
def session(handlers: Handlers) -> _Session:
    session = _Session(handlers)
    anyio.run(remember_all, session.partitions, session.look(), 0)
    return session


def test_f45_what_is_drained_is_not_looked_at_again(session: _Session) -> None:
    assert session.news() == []
    assert session.partitions.pending() == []


def test_f44_records_are_news_until_they_are_fetched(session: _Session, handlers: Handlers) -> None:
    handlers.log(1).append_batch(BATCH, now_ms=handlers.clock.now_ms())
    assert session.news() == [1]
    assert session.news() == [1]


def test_f45_who_got_records_is_behind_the_others(session: _Session, handlers: Handlers) -> None:
    handlers.log(0).append_batch(BATCH, now_ms=handlers.clock.now_ms())
    assert session.news() == [0]
    handlers.log(1).append_batch(BATCH, now_ms=handlers.clock.now_ms())
    assert session.news() == [1, 0]
