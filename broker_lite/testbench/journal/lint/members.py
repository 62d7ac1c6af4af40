"""Members of groups that went without a word, so that the group waited for them."""

from collections.abc import Collection, Iterator
from typing import Final

from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.lint.finding import About, CountingRule, Finding
from broker_lite.wire.structs import Struct

_HEARTBEAT: Final = 12
_LEAVE_GROUP: Final = 13
_SYNC_GROUP: Final = 14
_CONSUMER_GROUP_HEARTBEAT: Final = 68
_LEAVES: Final = (-1, -2)
"""The epochs by which a member of a consumer group says that it leaves (KIP-848)."""


class MissingClose(CountingRule):
    """Members whose connection is closed, and that did not leave the group.

    Members with a group.instance.id are left out: they stay members on purpose.
    """

    about = About(
        rule="missing-close",
        severity="warning",
        what="Members of groups closed their connection without leaving the group",
        why="The group keeps their partitions until session.timeout.ms has passed. Until"
        " then nobody reads these partitions, and a test with the next consumer waits.",
        fix="Call close() on every consumer, also when the program ends by an error or a"
        " signal. Set group.instance.id if the member is to keep its partitions.",
    )
    keys: frozenset[int] | None = frozenset(
        (_HEARTBEAT, _LEAVE_GROUP, _SYNC_GROUP, _CONSUMER_GROUP_HEARTBEAT)
    )

    def __init__(self, open_connections: Collection[int]) -> None:
        """Begin with nothing seen.

        Args:
            open_connections: the numbers of the connections that are open now.
        """
        super().__init__()
        self._open = open_connections
        self._members: dict[tuple[str, str], EntryFacts] = {}
        self._static: set[tuple[str, str]] = set()

    def see(self, facts: EntryFacts) -> None:
        """Look at the next entry."""
        body = facts.body
        group = getattr(body, "group_id", "")
        member = getattr(body, "member_id", "")
        if facts.entry.api_key == _LEAVE_GROUP:
            members = getattr(body, "members", None) or ()
            for each in [member, *(getattr(each, "member_id", "") for each in members)]:
                self._members.pop((group, each), None)
            return
        if not member:  # the answer gives it one
            member = getattr(facts.answer and facts.answer.struct, "member_id", None) or ""
        if getattr(body, "member_epoch", 0) in _LEAVES:
            self._members.pop((group, member), None)
        elif member:
            if _is_static(body):
                self._static.add((group, member))
            self._members[group, member] = facts

    def findings(self) -> Iterator[Finding]:  # type: ignore[explicit-override]
        """Tell what was found."""
        for member, facts in self._members.items():
            if member not in self._static and facts.entry.peer.connection_id not in self._open:
                self._seen.add(facts)
        yield from self._seen.findings()


def _is_static(body: Struct | None) -> bool:
    names = ("group_instance_id", "instance_id")
    return any(getattr(body, name, None) for name in names)
