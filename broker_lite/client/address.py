"""Parses addresses of brokers: `HOST:PORT[,HOST:PORT…]`."""

import re
from typing import NamedTuple, Self

from broker_lite.errors import SettingsError

_ADDRESS = re.compile(r"(?:[A-Z_0-9]+://)?(?:\[([0-9a-fA-F:.%\w]+)\]|([^\s\[\]:/]+)):(\d{1,5})")
_PORT_MAX = 65535


class Address(NamedTuple):
    """The address of a broker's listener."""

    host: str
    port: int

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `host:port` or `[ipv6]:port`; a listener's name in front is dropped.

        Raises:
            SettingsError: the text is neither.
        """
        match = _ADDRESS.fullmatch(text.strip())
        if match is None or not 0 < int(match[3]) <= _PORT_MAX:
            raise SettingsError(f"{text.strip() or 'bootstrap server'!s}: not an address HOST:PORT")
        return cls(match[1] or match[2], int(match[3]))


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Parse a comma-separated list of addresses; blanks are ignored.

    Raises:
        SettingsError: the list is empty, or has something else.
    """
    parts = [part for part in text.split(",") if part.strip()]
    if not parts:
        raise SettingsError("no bootstrap server is given")
    return tuple(Address.parse(part) for part in parts)
