"""Which requests a fault, a wait or a look at the journal is about.

All selectors that are given have to hold. A selector that a request does not carry never holds: a
fault with a topic leaves heartbeats alone.
"""

from typing import Any

import msgspec


class Selectors(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Chooses requests.

    Attributes:
        keys: APIs by name ("Produce") or number.
        versions: the first and the last version.
        nodes: brokers by id.
        listener: the listener's name.
        client_id: of the header; * and ? stand for any characters.
        software: the client's NAME VERSION as it told it (KIP-511), with * and ?.
        connection: as the journal names it, c1 for the first.
        topic: a topic's name, with * and ?.
        topic_id: a topic's id, as Kafka prints it.
        partitions: numbers; with a topic, of that topic.
        group: a group id, with * and ?.
        txn_id: a transactional id, with * and ?.
        resource: the name of a resource of configs or ACLs, with * and ?.
        where: fields of the decoded request with their values; `topics[].name` means any element.
    """

    keys: list[str | int] | None = None
    versions: tuple[int, int] | None = None
    nodes: list[int] | None = None
    listener: str | None = None
    client_id: str | None = None
    software: str | None = None
    connection: str | None = None
    topic: str | None = None
    topic_id: str | None = None
    partitions: list[int] | None = None
    group: str | None = None
    txn_id: str | None = None
    resource: str | None = None
    where: dict[str, Any] | None = None
