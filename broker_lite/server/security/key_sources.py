"""Where the keys of signed tokens come from: a file, which is read at the start, or a URL.

Keys are fetched by a thread, within time limits and a bound of bytes. They are fetched again when
they are old, and when a token names a key that is not among them, for each such name at most once a
minute. Meanwhile, the old ones are used.

A difference to Kafka: a broker starts although its URL cannot be reached, and refuses tokens until
it can. Kafka does not start.

Source: RefreshingHttpsJwks.
"""

import logging
import threading
import time
from asyncio import AbstractEventLoop, get_running_loop
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import anyio

from broker_lite.errors import SettingsError
from broker_lite.security.sasl.token_rules import KeyPlace, KeySource

if TYPE_CHECKING:
    from broker_lite.security.sasl.jwks import KeySet

logger = logging.getLogger("broker_lite.server")

FETCHED_BYTES_MAX: Final = 1024 * 1024
_WAIT_S_MAX: Final = 15
_MISSED_MS: Final = 60_000
_MISSED_KEPT: Final = 16
_KID_MAX: Final = 1000

Fetch = Callable[[str, int], bytes]
"""Returns what is at a URL, at most so many bytes; raises OSError or ValueError."""


def machine_ms() -> float:
    """Return the machine's time; that of the broker may stand still."""
    return time.monotonic() * 1000


class KeysOfFile:
    """Keys that were read once."""

    def __init__(self, keys: "KeySet") -> None:
        """Keep them."""
        self._keys = keys

    def keys(self) -> "KeySet":
        """Return the keys."""
        return self._keys

    def miss(self, kid: str) -> None:
        """Do nothing: a file is read at the start only."""

    async def ready(self) -> None:
        """Do nothing."""


class KeysOfUrl:
    """Keys that are fetched when they are needed, and kept."""

    def __init__(
        self, place: KeyPlace, fetch: Fetch, now_ms: Callable[[], float] = machine_ms
    ) -> None:
        """Fetch nothing yet.

        Args:
            place: the URL, and how often.
            fetch: called in a thread.
            now_ms: the machine's time.
        """
        self._place = place
        self._fetch = fetch
        self._now_ms = now_ms
        self._keys: KeySet | None = None
        self._is_due_ms = 0.0
        self._failures = 0
        self._fetched: anyio.Event | None = None
        self._missed: OrderedDict[str, float] = OrderedDict()

    def keys(self) -> "KeySet | None":
        """Return the keys that were fetched last; None if there are none yet."""
        return self._keys

    def miss(self, kid: str) -> None:
        """Begin to fetch the keys again, unless this key was missed a moment ago."""
        now_ms = self._now_ms()
        if len(kid) > _KID_MAX or now_ms - self._missed.get(kid, -_MISSED_MS) < _MISSED_MS:
            return
        self._missed[kid] = now_ms
        if len(self._missed) > _MISSED_KEPT:
            self._missed.popitem(last=False)
        if self._fetched is None and not self._failures:
            self._begin()

    async def ready(self) -> None:
        """Begin to fetch keys that are due, and wait for them."""
        if self._fetched is None and self._now_ms() >= self._is_due_ms:
            self._begin()
        if self._fetched is not None and self._now_ms() >= self._is_due_ms:
            with anyio.move_on_after(_WAIT_S_MAX):
                await self._fetched.wait()

    def _begin(self) -> None:
        self._fetched = anyio.Event()
        loop = get_running_loop()
        threading.Thread(target=self._work, args=(loop,), daemon=True).start()

    def _work(self, loop: AbstractEventLoop) -> None:
        """Fetch and parse, in a thread that nobody waits for at the end of the process."""
        from broker_lite.security.sasl.jwks import parse_key_set

        keys, reason = None, ""
        try:
            keys = parse_key_set(self._fetch(self._place.url, FETCHED_BYTES_MAX))
        except (OSError, ValueError) as error:
            reason = str(error)
        try:
            loop.call_soon_threadsafe(self._end, keys, reason)
        except RuntimeError:
            logger.debug("keys of tokens came after the end")

    def _end(self, keys: "KeySet | None", reason: str) -> None:
        """Take over what was fetched."""
        place, fetched = self._place, self._fetched
        if keys is None:
            self._failures += 1
            wait_ms = min(place.backoff_ms * 2 ** min(self._failures - 1, 30), place.backoff_ms_max)
            logger.warning("the keys of tokens cannot be fetched from %s: %s", shown(place), reason)
        else:
            self._keys, self._failures, wait_ms = keys, 0, place.refresh_ms
            logger.info("%d keys of tokens fetched from %s", len(keys), shown(place))
        self._is_due_ms = self._now_ms() + wait_ms
        self._fetched = None
        if fetched is not None:
            fetched.set()


def open_keys(place: KeyPlace) -> KeySource:
    """Open the source of keys.

    Raises:
        SettingsError: a file cannot be used, or packages are missing.
    """
    try:
        from broker_lite.security.sasl.jwks import BadKeySet, parse_key_set
    except ImportError as error:
        raise SettingsError(
            f"signed tokens of OAUTHBEARER need the package {error.name}: "
            "pip install 'broker-lite[security]'"
        ) from None
    from broker_lite.server.security.fetching import fetch

    if not place.url.lower().startswith("file:"):
        return KeysOfUrl(place, fetch)
    path = Path(unquote(urlsplit(place.url).path))
    try:
        with path.open("rb") as file:
            data = file.read(FETCHED_BYTES_MAX + 1)
        if len(data) > FETCHED_BYTES_MAX:
            raise BadKeySet(f"it has more than {FETCHED_BYTES_MAX} bytes")
        return KeysOfFile(parse_key_set(data))
    except (OSError, BadKeySet) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SettingsError(f"sasl.oauthbearer.jwks.endpoint.url: {path}: {reason}") from None


def shown(place: KeyPlace) -> str:
    """Return a URL without a user and password, and without what follows a question mark."""
    parts = urlsplit(place.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
