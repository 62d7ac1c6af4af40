"""Every message of the protocol by name: `messages.MetadataRequest.decode(data, version)`.

An attribute of this module is a MessageType. Calling a MessageType makes its root struct; its
attributes are the classes of the nested structs:

    response = messages.MetadataResponse(controller_id=1)
    response.topics.append(messages.MetadataResponse.MetadataResponseTopic(name="t"))
    body = messages.MetadataResponse.encode(response, version)

Arrays default to a new empty list (or None where the schema says null), uuids to ZERO_UUID. Decoded
fields are copies, except `records`, which are views of the data.

Type checkers read messages.pyi instead of this module. It is made from the same schemas and shows
each message as a class, so that `request: messages.MetadataRequest` is checked field by field. At
run time a message is no class. So annotations that do more than name it (`messages.A | None`,
`list[messages.A.B]`) must stay unevaluated, by quotes or by `from __future__ import annotations`.

Rule: P-09.
See: P-170 to P-172.
"""

from functools import cache

from broker_lite.wire.message_type import MessageType
from broker_lite.wire.schema import catalog, catalog_by_api

__all__ = ["MessageType", "by_api", "coordinator_record", "message", "metadata_record"]


def __getattr__(name: str) -> MessageType:
    """Make the message type of that name, and keep it as an attribute of the module."""
    if name.startswith("_") or name not in catalog():
        raise AttributeError(f"there is no message {name!r}")
    found = message(name)
    globals()[name] = found
    return found


@cache
def message(name: str) -> MessageType:
    """Return a message type by name.

    Raises:
        KeyError: there is no such message.
    """
    return MessageType(catalog()[name])


def by_api(api_key: int) -> tuple[MessageType, MessageType]:
    """Return the request and the response of an API.

    Raises:
        KeyError: there is no such API.
    """
    return (
        message(catalog_by_api("protocol", "request")[api_key]),
        message(catalog_by_api("protocol", "response")[api_key]),
    )


def metadata_record(api_key: int) -> MessageType:
    """Return a record of the KRaft metadata log by its type number.

    Raises:
        KeyError: there is no such record.
    """
    return message(catalog_by_api("metadata", "metadata")[api_key])


def coordinator_record(api_key: int, *, is_key: bool = False) -> MessageType:
    """Return the value (or key) type of a record in __consumer_offsets by its type number.

    Raises:
        KeyError: there is no such record.
    """
    message_type = "coordinator-key" if is_key else "coordinator-value"
    return message(catalog_by_api("group-coordinator", message_type)[api_key])
