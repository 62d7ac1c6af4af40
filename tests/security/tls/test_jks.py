"""Stores in Java's old format, made by keytool 17; damaged ones give one line and no traceback.

Also tests: broker_lite.security.tls.opened.
"""

import base64
import hashlib
import random
import ssl
import struct
from pathlib import Path

import pytest

from broker_lite.security.tls.jks import UnreadableStore, read_jks
from broker_lite.security.tls.opened import Entry, Opened, first_entry

_DATA = Path(__file__).parent / "data"


def kept(name: str) -> bytes:
    """A store of the folder with the data, where stores are texts."""
    return base64.b64decode((_DATA / f"{name}.b64").read_text())


_SERVER, _TRUST = kept("server.jks"), kept("trust.jks")
_PASSWORD, _KEY_PASSWORD = "changeit", "keypass1"
# Where the parts of the store with one certificate are.
_VERSION, _COUNT, _KIND = 4, 8, 12


def _signed(body: bytes) -> bytes:
    """A store with the right digest, whatever is in it."""
    secret = _PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite"
    return body + hashlib.sha1(secret + body).digest()


def _edited(store: bytes, position: int, number: int) -> bytes:
    body = store[:-20]
    return _signed(body[:position] + struct.pack(">I", number) + body[position + 4 :])


def test_a_key_and_its_chain() -> None:
    opened = read_jks(_SERVER, _PASSWORD, _KEY_PASSWORD)
    ((alias, certificate),) = opened.entries
    assert alias == "server"
    assert opened.pem.startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert ssl.PEM_cert_to_DER_cert(_certificates(opened)) == certificate
    assert "PRIVATE" not in repr(opened)
    with pytest.raises(UnreadableStore, match="password of its private key"):
        read_jks(_SERVER, _PASSWORD, None)
    with pytest.raises(UnreadableStore, match="its password is wrong, or it is damaged"):
        read_jks(_SERVER, _KEY_PASSWORD, _KEY_PASSWORD)


def _certificates(opened: Opened) -> str:
    text = opened.pem.decode()
    return text[text.index("-----BEGIN CERTIFICATE") :]


def test_a_trusted_certificate() -> None:
    opened = read_jks(_TRUST, _PASSWORD, None)
    server = read_jks(_SERVER, _PASSWORD, _KEY_PASSWORD).entries[0]
    assert opened.entries == (Entry("ca", server.certificate),)
    assert read_jks(_TRUST, None, None) == opened


def test_the_first_version_of_the_format() -> None:
    body = _TRUST[:-20]
    word = b"\0\x05X.509"
    assert body.count(word) == 1
    old = struct.pack(">I", 1).join((body[:4], body[8:])).replace(word, b"")
    assert read_jks(_signed(old), _PASSWORD, None) == read_jks(_TRUST, _PASSWORD, None)


@pytest.mark.parametrize(
    "store",
    [
        _edited(_TRUST, _VERSION, 3),
        _edited(_TRUST, _COUNT, 2),
        _edited(_TRUST, _COUNT, 0),
        _edited(_TRUST, _COUNT, 0xFFFFFFFF),
        _edited(_TRUST, _KIND, 3),
        _edited(_SERVER, 12 + 4 + 2 + 6 + 8, 0x7FFFFFFF),
        _signed(_TRUST[:-20] + b"\0"),
        _signed(_TRUST[:-20].replace(b"X.509", b"X.510")),
        _signed(_TRUST[:30]),
        _signed(b""),
    ],
)
def test_a_damaged_store(store: bytes) -> None:
    with pytest.raises(UnreadableStore, match=r"^it (is damaged|has a certificate that is not)"):
        read_jks(store, _PASSWORD, None)


def test_a_damaged_key() -> None:
    body = _SERVER[:-20]
    start = 12 + 4 + 2 + 6 + 8 + 4
    for new, problem in (
        (body[:start] + b"\x31" + body[start + 1 :], "its private key is damaged"),
        (body.replace(b"\x2a\x02\x11\x01\x01", b"\x2a\x02\x11\x01\x02"), "in another way"),
        (_flipped(body, start + 60), "password of its private key"),
    ):
        with pytest.raises(UnreadableStore, match=problem):
            read_jks(_signed(new), _PASSWORD, _KEY_PASSWORD)


def _flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


def test_any_damage_gives_one_line() -> None:
    dice = random.Random(7)
    reasons = []
    for _ in range(3000):
        body = bytearray(dice.choice((_SERVER, _TRUST))[:-20])
        for _ in range(dice.randint(1, 4)):
            body[dice.randrange(len(body))] = dice.choice(
                (0, 1, 127, 128, 255, dice.randrange(256))
            )
        cut = bytes(body[: dice.randrange(len(body))] if dice.random() < 0.2 else body)
        try:
            read_jks(_signed(cut), _PASSWORD, _KEY_PASSWORD)
        except UnreadableStore as error:
            reasons.append(str(error))
    assert len(reasons) > 1000
    assert not any("\n" in reason for reason in reasons)


def test_a_pem_without_a_certificate_has_no_entry() -> None:
    assert first_entry(b"nothing", "a") == ()
    broken = b"-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n"
    assert first_entry(broken, "a") == ()
