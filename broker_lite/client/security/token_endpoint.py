"""Gets tokens of OAUTHBEARER from a file, or by client credentials from an OAuth server.

The properties and options are those of Kafka's OAuthBearerLoginCallbackHandler. A token is used for
several connections until most of its life is over.
"""

import base64
import http.client
import json
import re
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

from broker_lite.client.connecting import reason_of
from broker_lite.client.errors import LoginRefused
from broker_lite.client.property_values import integer
from broker_lite.client.security.tls_properties import trust_of
from broker_lite.errors import SettingsError

_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_ID: Final = "sasl.oauthbearer.client.credentials.client.id"
_SECRET: Final = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 - a name
_SCOPE: Final = "sasl.oauthbearer.scope"
_TIMEOUT: Final = "sasl.login.read.timeout.ms"
_TIMEOUT_MS: Final = 10_000
_ANSWER_BYTES_MAX: Final = 1 << 20
_LIFE_SHARE: Final = 0.8
_OK: Final = 200
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")


class TokenEndpoint:
    """Where tokens come from; it keeps the last one while it is fresh."""

    def __init__(
        self,
        url: SplitResult,
        *,
        form: Mapping[str, str],
        authorization: str,
        timeout_s: float,
        context: ssl.SSLContext | None,
    ) -> None:
        """Keep the arguments; token() asks.

        Args:
            url: of the scheme file, http or https.
            form: what is asked for.
            authorization: the header of this name; it has the client's secret.
            timeout_s: how long to wait for the connection, and for the answer.
            context: of TLS, for https.
        """
        self._url = url
        self._form = form
        self._authorization = authorization
        self._timeout_s = timeout_s
        self._context = context
        self._token = ""
        self._fresh_until_s = 0.0

    def token(self) -> str:
        """Return a token.

        Raises:
            LoginRefused: there is none; one line without a secret.
        """
        if self._url.scheme == "file":
            return self._read()
        if not (self._token and time.time() < self._fresh_until_s):
            began_s = time.time()
            self._token = self._ask()
            self._fresh_until_s = began_s + _LIFE_SHARE * (_end_s(self._token) - began_s)
        return self._token

    def _read(self) -> str:
        path = unquote(self._url.path)
        try:
            return Path(path).read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not text"
            raise LoginRefused(f"{path}: {reason}") from None

    def _ask(self) -> str:
        where = f"{_ENDPOINT}={self._url.scheme}://{self._url.netloc.rpartition('@')[2]}"
        head = {
            "Authorization": self._authorization,
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }
        path = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
        connection = self._connection()
        try:
            connection.request("POST", path, urlencode(self._form), head)
            with connection.getresponse() as answer:
                body = answer.read(_ANSWER_BYTES_MAX)
        except TimeoutError:
            raise LoginRefused(f"{where}: no answer within {self._timeout_s:g} s") from None
        except ssl.SSLCertVerificationError as error:
            raise LoginRefused(
                f"{where}: its certificate is not trusted: {error.verify_message}"
            ) from None
        except OSError as error:
            raise LoginRefused(f"{where}: {reason_of(error)}") from None
        except UnicodeError:
            raise LoginRefused(f"{where}: the host's name cannot be resolved") from None
        except http.client.HTTPException:
            raise LoginRefused(f"{where}: it does not answer by HTTP") from None
        finally:
            connection.close()
        if answer.status != _OK:
            raise LoginRefused(f"{where}: it answers with {answer.status} {answer.reason}".rstrip())
        return _token_in(body, where)

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(
                host, port, timeout=self._timeout_s, context=self._context
            )
        return http.client.HTTPConnection(host, port, timeout=self._timeout_s)


def token_endpoint_of(properties: Mapping[str, str], options: Mapping[str, str]) -> TokenEndpoint:
    """Return where tokens come from.

    Args:
        properties: of the client; they win over the options.
        options: of the login module.

    Raises:
        SettingsError: a property is wrong or missing.
    """
    url = _url(properties[_ENDPOINT].strip())
    client_id = properties.get(_ID) or options.get("clientId")
    secret = properties.get(_SECRET) or options.get("clientSecret")
    if url.scheme != "file" and not (client_id and secret):
        raise SettingsError(f"{_ENDPOINT} needs {_ID} and {_SECRET}, or clientId and clientSecret")
    form = {"grant_type": "client_credentials"}
    scope = properties.get(_SCOPE) or options.get("scope")
    if scope:
        form["scope"] = scope
    pair = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    return TokenEndpoint(
        url,
        form=form,
        authorization=f"Basic {pair}",
        timeout_s=integer(properties, _TIMEOUT, _TIMEOUT_MS, minimum=1) / 1000,
        context=trust_of(options) if url.scheme == "https" else None,
    )


def _url(text: str) -> SplitResult:
    try:
        url = urlsplit(text)
        is_url = url.scheme == "file" or (url.scheme in {"http", "https"} and url.hostname)
        # url.port raises ValueError if it is not a number.
        is_url = is_url and _VISIBLE.fullmatch(text) and url.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise SettingsError(f"{_ENDPOINT}: it is no URL of file, http or https")
    return url


def _token_in(body: bytes, where: str) -> str:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    token = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(token, str) or not token:
        raise LoginRefused(f"{where}: its answer has no access_token")
    return token


def _end_s(token: str) -> float:
    """Return when a token ends, in seconds since the epoch; 0 if it does not say so."""
    part = token.split(".")[1] if token.count(".") >= 1 else ""
    try:
        end_s = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))["exp"]
        return float(end_s)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return 0
