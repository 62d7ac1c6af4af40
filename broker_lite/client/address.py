"""Addresses of brokers as people write them: `HOST:PORT[,HOST:PORT…]`."""

import re
from typing import NamedTuple, Self

from broker_lite.errors import SettingsError

_ADDRESS = re.compile(r"(?:[A-Z_0-9]+://)?(?:\[([0-9a-fA-F:.%\w]+)\]|([^\s\[\]:/]+)):(\d{1,5})")
_PORT_MAX = 65535


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `host:port` or `[ipv6]:port`; the name of a listener in front of it is dropped.

        Raises:
            SettingsError: the text is neither.
        """
        match = _ADDRESS.fullmatch(text.strip())
        if match is None or not 0 < int(match[3]) <= _PORT_MAX:
            raise SettingsError(f"{text.strip() or 'bootstrap server'!s}: not an address HOST:PORT")
        return cls(match[1] or match[2], int(match[3]))


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Read a list of addresses with commas between them; blanks around each do not matter.

    Raises:
        SettingsError: one of them is no address, or there is none.
    """
    parts = [part for part in text.split(",") if part.strip()]
    if not parts:
        raise SettingsError("no bootstrap server is given")
    return tuple(Address.parse(part) for part in parts)
