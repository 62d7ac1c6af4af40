"""What goes with a forwarded request, there and back."""

import pytest

from broker_lite.handler.context import CloseConnection, ListenerInfo, MutedAnswer
from broker_lite.protocol.framing import Request
from broker_lite.security.principal import Principal, TokenPrincipal
from broker_lite.server.processes.forwarded import (
    Client,
    decode_forwarded,
    decode_outcome,
    encode_closing,
    encode_forwarded,
    encode_outcome,
)

LISTENER = ListenerInfo("EXTERNAL", "SASL_SSL", "host", 7, 9)


@pytest.mark.parametrize(
    "principal", [Principal("User", "ä:b"), TokenPrincipal("User", "owner"), Principal("Role", "")]
)
def test_the_client_goes_with_its_request(principal: Principal) -> None:
    client = Client(7, ("::1", 5), ("10.0.0.1", 9092), LISTENER, principal, "librdkafka 2")
    frame = memoryview(bytearray(b"header and body"))
    found, body = decode_forwarded(
        encode_forwarded(client, Request(3, 12, 1, "c", frame, 7, flexible=True))
    )
    assert found == client
    assert found.principal.is_by_token == principal.is_by_token
    assert bytes(body) == b"header and body"
    assert not body.readonly


def test_an_answer_comes_back() -> None:
    assert decode_outcome(encode_outcome([b"a", b"bc"], 5), 5) == [b"abc"]
    assert decode_outcome(encode_outcome([], 5), 5) == [b""]
    assert decode_outcome(encode_outcome(None, 5), 5) is None


def test_the_time_of_a_throttled_client_counts_by_the_clock_of_its_process() -> None:
    muted = decode_outcome(encode_outcome(MutedAnswer([b"a"], 1_050), 1_000), 400)
    assert isinstance(muted, MutedAnswer)
    assert (list(muted), muted.has_parts, muted.until_ms) == ([b"a"], True, 450)
    silent = decode_outcome(encode_outcome(MutedAnswer(None, 1_050), 1_000), 400)
    assert isinstance(silent, MutedAnswer)
    assert (silent.has_parts, silent.until_ms) == (False, 450)


def test_a_connection_is_closed_for_the_same_reason() -> None:
    with pytest.raises(CloseConnection, match="API key 99 is not offered"):
        decode_outcome(encode_closing(CloseConnection("API key 99 is not offered")), 0)
