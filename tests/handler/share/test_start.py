"""A group may begin at a time that lies in a batch that takes long to search."""

import pytest

from broker_lite.log import timestamps
from tests.handler.share.share_requests import Sharer, acquired
from tests.support.handler_broker import HandlerBroker


def test_k20_heavy_batches_are_searched_in_a_thread(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timestamps, "AT_ONCE_FILE_BYTES_MAX", 0)
    sharer = Sharer(broker, earliest=False, **{"share.auto.offset.reset": "by_duration:PT1H"})
    now_ms = broker.clock.now_ms()
    sharer.append(5, at_ms=now_ms - 7_200_000)
    sharer.append(5, at_ms=now_ms - 60_000)
    sharer.beat()
    assert acquired(sharer.fetch()) == [(5, 9, 1)]
