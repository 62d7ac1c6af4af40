"""The table of APIs as a broker of some release offers it."""

from collections.abc import Mapping

from broker_lite.handler import emulate
from broker_lite.handler.table import APIS, OLD_MIN_VERSIONS, Api


def offered(release: str) -> Mapping[int, Api]:
    """The table as a broker of a release offers it.

    Args:
        release: one of settings.RELEASES.

    Returns:
        What the release and the table have in common.

    See: P-56.
    """
    highest = emulate.max_versions(release)
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
