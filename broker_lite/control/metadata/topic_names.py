"""Names and ids of topics: legal names, colliding names, new ids.

Rule: P-21, P-74, P-100, P-101 (Topic, Uuid).
"""

import re
from collections.abc import Callable
from typing import Final

from broker_lite.errors import InvalidTopic
from broker_lite.log.files.checkpoints import format_uuid

METADATA_TOPIC_ID: Final = bytes(15) + b"\x01"
INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
NAME_LENGTH_MAX: Final = 249

_RESERVED_IDS: Final = frozenset({bytes(16), METADATA_TOPIC_ID})
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def is_legal_topic_name(name: str) -> bool:
    """Return whether a topic may have this name.

    Rule: P-100 (Topic.isValid).
    """
    return len(name) <= NAME_LENGTH_MAX and name not in {".", ".."} and bool(_LEGAL.fullmatch(name))


def check_topic_name(name: str) -> None:
    """Check a topic's name.

    Raises:
        InvalidTopic: the name is illegal; the error has Kafka's text.

    Rule: P-100 (Topic.validate).
    """
    if is_legal_topic_name(name):
        return
    if not name:
        reason = "the empty string is not allowed"
    elif name in {".", ".."}:
        reason = f"'{name}' is not allowed"
    elif len(name) > NAME_LENGTH_MAX:
        reason = f"the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    else:
        reason = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )
    raise InvalidTopic(f"Topic name is invalid: {reason}")


def collision_key(name: str) -> str:
    """Return a key that is the same for all names that collide.

    Rule: P-101 (Topic.unifyCollisionChars).
    """
    return name.replace(".", "_")


def make_id(random_bytes: Callable[[int], bytes]) -> bytes:
    """Return a new id: a random UUID of version 4, not reserved, whose text starts with no hyphen.

    Rule: P-21 (Uuid.randomUuid).
    See: P-113.
    """
    while True:
        raw = bytearray(random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        made = bytes(raw)
        # a text that starts with a hyphen would be read as an option by command line tools
        if made not in _RESERVED_IDS and not format_uuid(made).startswith("-"):
            return made
