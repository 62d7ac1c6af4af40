from pathlib import Path

import pytest

from broker_lite.security.one_word.keep import prepare, read_kept
from broker_lite.security.one_word.own_tokens import with_own_tokens
from broker_lite.security.one_word.tokens import Claims, signed_token
from broker_lite.security.sasl.oauthbearer import BadToken
from broker_lite.settings import Settings, load_settings

CLAIMS = Claims("http://localhost", "bob", "", "", 1_700_000_000, 1_700_000_060)
NOW_MS = 1_700_000_001_000


def unsecured(token: str, now_ms: int) -> tuple[str, int]:
    return token, now_ms


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("data")
    texts = {"broker.lite.security": "sasl_plaintext", "log.dirs": str(folder)}
    found = load_settings(None, {}, texts)
    prepare(found, folder, NOW_MS / 1000)
    return found


def token_of(settings: Settings, claims: Claims) -> str:
    assert settings.log_dirs
    kept = read_kept(Path(settings.log_dirs[0]))
    assert kept is not None
    return signed_token(kept.token_key, claims)


def test_a_token_of_the_issuer(settings: Settings) -> None:
    check = with_own_tokens(settings, unsecured)
    assert check(token_of(settings, CLAIMS), NOW_MS) == ("bob", 1_700_000_060_000)


def test_a_token_that_has_expired_by_the_given_time(settings: Settings) -> None:
    check = with_own_tokens(settings, unsecured)
    token = token_of(settings, CLAIMS)
    assert check(token, 1_700_000_059_999)[0] == "bob"
    with pytest.raises(BadToken):
        check(token, 1_700_000_060_000)


def test_a_token_of_somebody_else(settings: Settings) -> None:
    head, body, signature = token_of(settings, CLAIMS).split(".")
    for token in (f"{head}.{body}.{signature[::-1]}", "a.b.c", "abc"):
        with pytest.raises(BadToken):
            with_own_tokens(settings, unsecured)(token, NOW_MS)


def test_a_token_without_a_signature_is_left_to_the_other_check(settings: Settings) -> None:
    assert with_own_tokens(settings, unsecured)("a.b.", 5) == ("a.b.", 5)


def test_without_a_key_nothing_changes() -> None:
    assert with_own_tokens(load_settings(None, {}), unsecured) is unsecured
