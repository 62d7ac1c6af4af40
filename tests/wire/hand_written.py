"""Decoders written by hand against what is not a request, and against the generated ones."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from broker_lite.wire import DecodeError, messages
from tests.wire.samples import SmallSampler

Decode = Callable[[memoryview, int], Any]
FromGenerated = Callable[[Any, int], Any]


def check_every_prefix(name: str, version: int, decode: Decode) -> None:
    """No request may end early, wherever it is cut."""
    for seed in range(3):
        body = SmallSampler(name, version, seed).encoded()
        for length in range(len(body)):
            with pytest.raises(DecodeError):
                decode(memoryview(body)[:length], version)


def check_edited_bytes(
    name: str, version: int, decode: Decode, from_generated: FromGenerated
) -> None:
    """What the generated decoder takes of damaged requests is taken, the rest is refused."""
    edits = random.Random(version)
    message = messages.message(name)

    def generated(body: memoryview, version: int) -> Any:
        value, _ = message.decode(body, version)
        return from_generated(value, version)

    for seed in range(20):
        body = SmallSampler(name, version, seed).encoded()
        for _ in range(50):
            edited = bytearray(body)
            for _ in range(edits.randint(1, 2)):
                edited[edits.randrange(len(edited))] = edits.choice((0, 1, 5, 127, 128, 255))
            view = memoryview(edited)
            assert _outcome(decode, view, version) == _outcome(generated, view, version)


def _outcome(decode: Decode, body: memoryview, version: int) -> Any:
    try:
        return decode(body, version)
    except DecodeError:
        return None
