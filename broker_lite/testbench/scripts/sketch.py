"""Makes a script from a recorded session: its requests become what is expected of the next one."""

from collections.abc import Sequence
from typing import Final

from broker_lite.handler.table import APIS
from broker_lite.seed.topic_spec import spec_text
from broker_lite.server.life import Life
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.facts import api_name
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.scripts.before import Before
from broker_lite.testbench.scripts.form import Expectation, Script
from broker_lite.testbench.selectors import Selectors
from broker_lite.testbench.turns import Turns

REQUESTS_MAX: Final = 1000
_AROUND: Final = frozenset((3, 18))
"""Metadata and ApiVersions: clients send them when they please."""


async def sketch(journal: Journal, life: Life, after: int = 0, records: int = 0) -> Script:
    """Return a script that expects the recorded requests in their order.

    Equal requests in a row are one, and more of them may come. The session has to be one without
    faults, because what clients sent because of them is not what is expected of them.

    Args:
        journal: where the session is recorded.
        life: of the broker.
        after: the number of the entry after which the session begins.
        records: at most so many records that were there before the session become part of the
            script, together with the offsets that its groups had; 0 for neither.

    Raises:
        ControlError: a rule acted on a request (409), or there are too many requests or records
            (409), or what was there before is not known (409).
    """
    expected: list[Selectors] = []
    others = set(_AROUND)
    used: set[str] = set()
    names, turns = journal.topic_names(), Turns()
    before = Before(names)
    for entry in journal.entries(after):
        facts = EntryFacts(entry, names)
        if facts.acted:
            text = f"{entry.id} met rule {facts.acted[0]}: a sketch is of a session without faults"
            raise ControlError(409, text)
        used |= facts.entities.topics
        if records:
            before.note(facts)
        if entry.api_key not in _AROUND and entry.api_key in APIS:
            wanted = _selectors(facts)
            if expected and expected[-1] == wanted:
                others.add(entry.api_key)
            else:
                expected.append(wanted)
        if len(expected) > REQUESTS_MAX:
            text = f"there are more than {REQUESTS_MAX} requests; say after which one to begin"
            raise ControlError(409, text, "?after")
        await turns.next()
    topics = life.cluster.topics
    known = [name for name in sorted(used & topics.keys()) if not topics[name].is_internal]
    found, offsets = await before.read(life, known, records) if records else ([], {})
    return Script(
        topics=[
            spec_text(name, topics[name].partition_count, topics[name].overrides) for name in known
        ],
        records=found,
        offsets=offsets,
        expect=Expectation(requests=expected, others_ok=_names(sorted(others))),
    )


def _selectors(facts: EntryFacts) -> Selectors:
    """Return the selectors of a request: its API, and its topic and partitions if it has one."""
    entities = facts.entities
    keys: list[str | int] = [facts.api]
    if len(entities.topics) != 1:
        return Selectors(keys=keys)
    [topic] = entities.topics
    partitions = sorted(entities.partitions.get(topic, ()))
    return Selectors(keys=keys, topic=topic, partitions=partitions or None)


def _names(keys: Sequence[int]) -> list[str | int]:
    return [api_name(key) for key in keys]
