"""The broker's side of PLAIN.

Also tests: broker_lite.security.sasl.mechanism.
"""

import pytest

from broker_lite.security.sasl.mechanism import Refused, Step
from broker_lite.security.sasl.plain import Plain

USERS = {"alice": "secret", "": "x"}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"a\0b\0c\0d\0e", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0x", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0bob\0secret", "Authentication failed: Invalid username or password"),
        (
            b"bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from "
            "username",
        ),
    ],
)
def test_x13_x14_refusals(message: bytes, text: str) -> None:
    with pytest.raises(Refused) as caught:
        Plain(USERS).take(message, 0)
    assert str(caught.value) == text


@pytest.mark.parametrize("message", [b"\0alice\0secret", b"alice\0alice\0secret"])
def test_x14_x15_success(message: bytes) -> None:
    assert Plain(USERS).take(message, 0) == Step(b"", "alice", None)
