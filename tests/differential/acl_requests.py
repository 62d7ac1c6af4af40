"""Random requests of all APIs, about a few names of which the users have rights to some.

A request is made for each side, because ids of topics differ.
"""

import random
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from tests.differential.acl_admin_requests import AdminRequests
from tests.differential.acl_data_requests import DataRequests
from tests.differential.acl_group_requests import GroupRequests
from tests.differential.acl_names import Build


class Ask(NamedTuple):
    """A request of an API in a version."""

    name: str
    version: int
    build: Build


class AclRequests(DataRequests, GroupRequests, AdminRequests):
    """Makes requests by chance.

    Attributes:
        apis: names of the APIs that are asked.
    """

    def __init__(self, chance: random.Random, versions: Mapping[str, tuple[int, int]]) -> None:
        """Keep what is needed.

        Args:
            chance: makes the same requests for the same seed.
            versions: lowest and highest version of each API that both sides have.
        """
        super().__init__(chance)
        self._versions = versions
        self._makers: Mapping[str, Callable[[int], Build]] = {
            name: getattr(self, f"_{_snake(name)}") for name in API_NAMES
        }
        self.apis = [name for name in API_NAMES if name in versions]

    def ask(self, name: str | None = None) -> Ask:
        """Make a request of an API, or of any."""
        name = name or self._chance.choice(self.apis)
        low, high = self._versions[name]
        version = self._chance.choice((high, high, self._chance.randint(low, high)))
        return Ask(name, version, self._makers[name](version))


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]


API_NAMES: Final = tuple(
    "".join(part.capitalize() for part in name.split("_"))
    for kind in AclRequests.__bases__
    for name, member in vars(kind).items()
    if name.startswith("_")
    and not name.startswith("__")
    and getattr(member, "__annotations__", {}).get("return") is Build
)
