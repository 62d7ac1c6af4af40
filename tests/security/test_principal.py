"""Principals and their texts."""

import pytest

from broker_lite.security.principal import ANONYMOUS, Principal, parse_principal


def test_a_text_and_back() -> None:
    alice = parse_principal("User:CN=alice,OU=a:b")
    assert alice == Principal("User", "CN=alice,OU=a:b")
    assert str(alice) == "User:CN=alice,OU=a:b"


def test_who_did_not_say_who_it_is_x38() -> None:
    assert str(ANONYMOUS) == "User:ANONYMOUS"


@pytest.mark.parametrize("text", ["alice", "User:", ":alice", ""])
def test_a_text_without_kind_or_name(text: str) -> None:
    with pytest.raises(ValueError, match="expected a string in format"):
        parse_principal(text)
