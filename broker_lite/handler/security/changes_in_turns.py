"""Write changes of the metadata that are independent of each other, a few at a time.

Other connections have their turn in between, so that a request with very many changes does not
block them.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, TypeVar

from anyio.lowlevel import checkpoint

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.metadata_records import MetadataRecord
from broker_lite.errors import KafkaStorageError

CHANGES_AT_A_TIME: Final = 128

Key = TypeVar("Key", bound=Hashable)
Change = TypeVar("Change")


async def write_in_turns(
    cluster: Cluster,
    changes: Mapping[Key, Change],
    make_records: Callable[[Key, Change], Sequence[MetadataRecord]],
) -> dict[Key, KafkaStorageError]:
    """Write changes and put them into force, in their order.

    Args:
        cluster: the cluster whose metadata changes.
        changes: the changes by their keys.
        make_records: returns the records of a change; none if nothing changes.

    Returns:
        The keys of the changes that could not be written, with the errors.
    """
    failed: dict[Key, KafkaStorageError] = {}
    keys = list(changes)
    for start in range(0, len(keys), CHANGES_AT_A_TIME):
        some = keys[start : start + CHANGES_AT_A_TIME]
        if start:
            await checkpoint()
        try:
            cluster.write([record for key in some for record in make_records(key, changes[key])])
        except KafkaStorageError as error:
            failed.update(dict.fromkeys(some, error.with_traceback(None)))
    return failed
