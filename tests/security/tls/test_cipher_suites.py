"""Cipher suites by the names that people write for Java."""

import ssl
from collections.abc import Sequence

import pytest

from broker_lite.errors import SettingsError
from broker_lite.security.tls.cipher_suites import limit_suites

_1_2, _1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
_OLD = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
_FIRST = "TLS_AES_256_GCM_SHA384"
_OTHERS = ("TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256")


def _context(lowest: ssl.TLSVersion = _1_2, highest: ssl.TLSVersion = _1_3) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = lowest, highest
    return context


@pytest.mark.parametrize(
    ("name", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", "DHE-RSA-AES256-SHA256"),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"),
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", "ECDHE-ECDSA-AES128-CCM8"),
    ],
)
def test_names_x68(name: str, openssl: str) -> None:
    context = _context()
    assert limit_suites(context, [name]) == frozenset()
    older = [one["name"] for one in context.get_ciphers() if one["name"][:4] != "TLS_"]
    assert older == [openssl]
    assert context.maximum_version == _1_2


@pytest.mark.parametrize(
    ("names", "versions", "told"),
    [
        ([], (_1_2, _1_3), set()),
        ([_FIRST], (_1_3, _1_3), {_FIRST}),
        ([_FIRST, *_OTHERS], (_1_3, _1_3), set()),
        ([_FIRST, _OLD], (_1_2, _1_3), {_FIRST}),
        ([_OLD], (_1_2, _1_2), set()),
    ],
)
def test_versions_follow_x68(
    names: Sequence[str], versions: tuple[ssl.TLSVersion, ssl.TLSVersion], told: set[str]
) -> None:
    context = _context()
    assert limit_suites(context, names) == told
    assert (context.minimum_version, context.maximum_version) == versions


@pytest.mark.parametrize(
    ("names", "versions", "problem"),
    [
        (["TLS_NOTHING"], (_1_2, _1_3), "TLS_NOTHING is unknown or not served"),
        (["SSL_RSA_WITH_RC4_128_MD5"], (_1_2, _1_3), "SSL_RSA_WITH_RC4_128_MD5 is unknown"),
        (["TLS_RSA_WITH_AES_128_CCM_SHA9"], (_1_2, _1_3), "is unknown or not served"),
        ([_OTHERS[0]], (_1_2, _1_3), f"of TLS 1.3 it has to name {_FIRST} or none"),
        ([_OLD], (_1_3, _1_3), "no version in ssl.enabled.protocols has one of them"),
        ([_FIRST], (_1_2, _1_2), "no version in ssl.enabled.protocols has one of them"),
    ],
)
def test_what_is_refused_x68(
    names: Sequence[str], versions: tuple[ssl.TLSVersion, ssl.TLSVersion], problem: str
) -> None:
    with pytest.raises(SettingsError, match=rf"^ssl.cipher.suites: .*{problem}"):
        limit_suites(_context(*versions), names)
