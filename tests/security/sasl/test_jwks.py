"""Sets of keys: what is left out, what is refused, and that no secret shows."""

import json
import random
from contextlib import suppress

import pytest

from broker_lite.security.sasl.jwks import KEYS_MAX, BadKeySet, parse_key_set
from tests.differential.signed_token_cases import jwk, key_set_text


def test_keys_of_unknown_kinds_and_broken_ones_are_left_out() -> None:
    assert len(parse_key_set(key_set_text())) == 10
    broken = [{**jwk("rsa"), "n": "!"}, {**jwk("ec256"), "x": "AA"}, {"kty": "RSA"}, 7, {"kty": []}]
    assert len(parse_key_set(json.dumps({"keys": broken}).encode())) == 0


MANY = json.dumps({"keys": [{}] * (KEYS_MAX + 1)}).encode()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"keys": 1}', b"\xff", b"[" * 100_000, MANY])
def test_what_is_no_set(data: bytes) -> None:
    with pytest.raises(BadKeySet):
        parse_key_set(data)


def test_any_bytes_are_a_set_or_an_error() -> None:
    dice = random.Random(3)
    good = key_set_text()
    for _ in range(300):
        data = bytearray(good)
        for _ in range(dice.randint(1, 3)):
            data[dice.randrange(len(data))] = dice.randrange(32, 127)
        with suppress(BadKeySet):
            parse_key_set(bytes(data))


def test_a_private_key_is_taken_as_its_public_one_and_a_repr_has_no_secret() -> None:
    keys = parse_key_set(json.dumps({"keys": [jwk("oct")]}).encode())
    assert "MDEyMzQ1" not in repr(keys)
