"""Lets clients log in by signed tokens of the broker's own issuer, beside unsecured ones."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from broker_lite.security.one_word.keep import read_kept
from broker_lite.security.one_word.tokens import verified
from broker_lite.security.sasl.oauthbearer import BadToken, CheckToken
from broker_lite.settings import Settings

_MS_PER_S = 1000


def with_own_tokens(settings: Settings, check: CheckToken) -> CheckToken:
    """Return a check of tokens that accepts those of the issuer, and leaves all others to `check`.

    Args:
        settings: of the broker, with the data directory where the issuer's key is.
        check: of tokens without a signature.

    Raises:
        SettingsError: the key cannot be read.
    """
    kept = read_kept(Path(settings.log_dirs[0])) if settings.log_dirs else None
    return check if kept is None else partial(_checked, kept.token_key, check)


def _checked(key: Mapping[str, str], check: CheckToken, token: str, now_ms: int) -> tuple[str, int]:
    if token.endswith("."):
        return check(token, now_ms)
    claims = verified(key, token, now_ms / _MS_PER_S)
    if claims is None:
        raise BadToken
    return claims.subject, claims.expires_s * _MS_PER_S
