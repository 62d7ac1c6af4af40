"""The part of the table of APIs that a broker of some release offers."""

from collections.abc import Mapping
from typing import Final

from broker_lite.handler import emulate
from broker_lite.handler.table import APIS, OLD_MIN_VERSIONS, Api
from broker_lite.settings import DEFAULT_RELEASE

_UNSTABLE: Final = frozenset((22,))
"""The APIs whose highest version in the table is not stable in any release."""


def offered(release: str, *, has_unstable: bool = False) -> Mapping[int, Api]:
    """Return the part of the table that a broker of a release offers.

    Args:
        release: one of settings.RELEASES.
        has_unstable: whether the default release offers unstable versions, too.

    Returns:
        The APIs and versions that are both in the table and in the release.

    See: P-56.
    """
    highest = dict(emulate.max_versions(release))
    if has_unstable and release == DEFAULT_RELEASE:
        highest.update((key, APIS[key].max_version) for key in _UNSTABLE)
    lowest = dict(emulate.min_versions(release))
    if emulate.serves_old_messages(release):
        lowest.update(OLD_MIN_VERSIONS)
    common = {
        key: api._replace(
            min_version=lowest.get(key, api.min_version),
            max_version=min(api.max_version, highest[key]),
        )
        for key, api in APIS.items()
        if key in highest
    }
    return {key: api for key, api in common.items() if api.min_version <= api.max_version}
