"""K-20: where a group begins that has never read."""

from dataclasses import replace

import pytest

from broker_lite.errors import ErrorCode, UnknownServerError
from broker_lite.handler.share.start import start_offset_of
from broker_lite.log import timestamps
from tests.handler.share.share_requests import Sharer, acquired, run
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


@pytest.mark.parametrize(
    ("duration", "first"),
    [
        ("P1D", 2),
        ("P1DT-23H", 2),
        ("p1d", 2),
        ("PT60,5S", 2),
        ("P9999999999D", 0),  # long before 1970, where records without a timestamp count
        ("P106751991D", 0),
    ],
)
def test_k20_where_kafka_begins(broker: HandlerBroker, duration: str, first: int) -> None:
    sharer = Sharer(broker, earliest=False)
    sharer.configure(**{"share.auto.offset.reset": f"by_duration:{duration}"})
    sharer.append(2, at_ms=-1)
    sharer.append(3, at_ms=broker.clock.now_ms() - 60_000)
    sharer.beat()
    assert acquired(sharer.fetch()) == [(first, 4, 1)]


@pytest.mark.parametrize("duration", ["P106752991167D", "PT9223372036854775807S"])
def test_k20_no_timestamp_is_so_long_ago(broker: HandlerBroker, duration: str) -> None:
    """Kafka 4.3.1 answers each fetch like this."""
    sharer = Sharer(broker, earliest=False)
    sharer.configure(**{"share.auto.offset.reset": f"by_duration:{duration}"})
    sharer.append(3)
    sharer.beat()
    for _ in range(2):
        answer = sharer.fetch()[0]
        assert (answer.error_code, answer.error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
        assert answer.acquired_records == []
    sharer.configure(**{"share.auto.offset.reset": "by_duration:P1D"})
    assert acquired(sharer.fetch()) == [(0, 2, 1)]


def test_k20_no_record_is_so_new_yet(broker: HandlerBroker) -> None:
    """Kafka 4.3.1 answers each fetch like this; it does not begin at the end."""
    sharer = Sharer(broker, earliest=False)
    sharer.configure(**{"share.auto.offset.reset": "by_duration:PT1M"})
    sharer.append(3, at_ms=broker.clock.now_ms() - 60_001)
    sharer.beat()
    for _ in range(2):
        answer = sharer.fetch()[0]
        assert (answer.error_code, answer.error_message) == (ErrorCode.OFFSET_NOT_AVAILABLE, None)
    sharer.append(2)
    assert acquired(sharer.fetch()) == [(3, 4, 1)]


def test_k20_a_duration_that_was_accepted_by_an_older_broker(broker: HandlerBroker) -> None:
    """Configs that are stored are not checked again."""
    sharer = Sharer(broker)
    sharer.append(1)
    log = broker.cluster.log("t", 0)
    settings = broker.context.groups.shares.settings_of("g")
    for text in ("P\N{ARABIC-INDIC DIGIT THREE}D", "PT99999999999999999999S"):
        stored = replace(settings, offset_reset=f"by_duration:{text}")
        with pytest.raises(UnknownServerError):
            run(start_offset_of(log, stored, broker.context))
