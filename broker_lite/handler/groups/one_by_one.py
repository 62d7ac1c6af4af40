"""Describe the groups of a request one by one, so that other connections get their turn in between.

A short request may name groups that are long to describe, and one of them several times. So each
group is described once and encoded at once, which frees its description; all repeats are answered
with the same bytes.

Each group is described as it is when its turn comes. Kafka describes them one after another, too:
those of different partitions in events of their own.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar, cast

from broker_lite.coordinator.repeats import few_repeats
from broker_lite.errors import ErrorCode
from broker_lite.handler.authorized import authorized_operations
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.denied import denied_names_in_turns
from broker_lite.handler.large import in_turns
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire.messages import MessageType
from broker_lite.wire.structs import EncodedElements, Struct


class _Group(Protocol):
    group_id: str
    error_code: int
    authorized_operations: int


S = TypeVar("S", bound=Struct)


async def denied_first(
    context: HandlerContext, group_ids: Sequence[str]
) -> tuple[frozenset[str], list[str]]:
    """Return which groups the client may not describe, and all groups in the order of the answer.

    Those that it may not describe come first, each as often as it is named. The others may be long,
    so they are repeated a few times only. Of a large request, split.py has left out such repeats.

    See: X-53.
    """
    kind = ResourceType.GROUP
    denied = await denied_names_in_turns(context, Operation.DESCRIBE, kind, group_ids)
    first = [each for each in group_ids if each in denied]
    return denied, [*first, *few_repeats(each for each in group_ids if each not in denied)]


def add_operations(context: HandlerContext, group: _Group) -> None:
    """Add what the client may do with a group to its description, unless that is an error."""
    if group.error_code == ErrorCode.NONE:
        group.authorized_operations = authorized_operations(
            context, ResourceType.GROUP, group.group_id
        )


async def one_by_one(
    group_ids: Iterable[str],
    describe: Callable[[str], Awaitable[S]],
    message: MessageType,
    version: int,
) -> list[S]:
    """Return the groups of a response, encoded.

    Args:
        group_ids: in the order of the answer, any number of times each.
        describe: returns the entry of a group; it is called once for each.
        message: the type of the response.
        version: of the response.
    """
    found: dict[str, bytes] = {}
    entries = EncodedElements()
    async for group_id in in_turns(group_ids, at_least=1):
        if group_id not in found:
            found[group_id] = await _encoded(await describe(group_id), message, version)
        entries.append(found[group_id])
    return cast("list[S]", entries)


async def _encoded(entry: Struct, message: MessageType, version: int) -> bytes:
    slices = in_turns(message.struct_slices(entry, version), at_least=1)
    return b"".join([piece async for piece in slices])
