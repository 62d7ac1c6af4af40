"""The client's side of OAUTHBEARER (RFC 7628), and unsecured tokens for it."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from broker_lite.security.login.mechanism import BrokerRefused

_TOKEN: Final = re.compile(r"[-_~+/.a-zA-Z0-9]+=*", re.ASCII)
_EXTENSION_NAME: Final = re.compile(r"[A-Za-z]+", re.ASCII)
_EXTENSION_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+", re.ASCII)
_SEEN: Final = b"\x01"
"""Says that the client has read why its token is refused."""


class OAuthBearerLogin:
    """One authentication by OAUTHBEARER."""

    def __init__(self, make_token: Callable[[], str], extensions: Mapping[str, str]) -> None:
        """Keep what the client sends.

        Args:
            make_token: returns a token that is valid now.
            extensions: SASL extensions, by names of letters.
        """
        self._make_token = make_token
        self._extensions = extensions
        self._is_refused = False

    def first(self) -> bytes:
        """Return the first message.

        Raises:
            BrokerRefused: the token cannot be one.

        See: X-25.
        """
        token = self._make_token()
        if not _TOKEN.fullmatch(token):
            raise BrokerRefused("the token has characters that no token has")
        pairs = "".join(f"{name}={value}\x01" for name, value in self._extensions.items())
        return f"n,,\x01auth=Bearer {token}\x01{pairs}\x01".encode()

    def take(self, answer: bytes) -> bytes | None:
        """Take the broker's answer; it has bytes if the token is refused.

        See: X-26, X-27.
        """
        if self._is_refused:
            raise BrokerRefused("the broker refuses the token, and does not say so")
        self._is_refused = bool(answer)
        return _SEEN if answer else None


class UnsecuredClaims(NamedTuple):
    """What an unsecured token says.

    Attributes:
        claims: all but the times.
        lifetime_s: how long a token lasts.
    """

    claims: Mapping[str, object]
    lifetime_s: int

    def token(self, now_ms: int) -> str:
        """Return a token that begins now."""
        now_s = now_ms / 1000
        claims = {"iat": now_s, "exp": now_s + self.lifetime_s, **self.claims}
        return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def check_extensions(extensions: Mapping[str, str]) -> None:
    """Check SASL extensions.

    Raises:
        ValueError: one is none; the text has its name only.
    """
    for name, value in extensions.items():
        is_name = _EXTENSION_NAME.fullmatch(name) and name != "auth"
        if not (is_name and _EXTENSION_VALUE.fullmatch(value)):
            raise ValueError(f"the extension {name} has to be letters with printable ASCII")


def _encoded(value: Mapping[str, object]) -> str:
    data = json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
