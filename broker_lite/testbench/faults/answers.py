"""Answers of any API as values: read, changed, and made into bytes again."""

import os

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import Parts, Request
from broker_lite.testbench.faults.problems import CannotApply
from broker_lite.wire import messages
from broker_lite.wire.messages import MessageType
from broker_lite.wire.primitives import DecodeError, EncodeError
from broker_lite.wire.structs import Struct

_MESSAGE = "error_message"


def joined(parts: Parts) -> bytes:
    """Return the bytes of an answer; ranges of files are read."""
    return b"".join(
        part if isinstance(part, bytes) else os.pread(part.fd, part.size_bytes, part.position)
        for part in parts
    )


class Answer:
    """An answer in one version of an API.

    Attributes:
        kind: the type of the message.
        layout: what this version of it has.
        body: the value.
    """

    def __init__(self, request: Request, body: Struct | None = None) -> None:
        """Make an answer to a request; without a body, one with all the schema's defaults."""
        _, self.kind = _types(request)
        layout = self.kind.layout(request.api_version)
        if layout is None:
            raise CannotApply(f"{self.kind.name} has no version {request.api_version}")
        self.layout = layout
        self.body = self.kind() if body is None else body

    @classmethod
    def of(cls, request: Request, parts: Parts | None) -> "Answer":
        """Read an answer.

        Raises:
            CannotApply: there is no answer, or none that can be read.
        """
        if parts is None:
            raise CannotApply("the request has no answer")
        _, kind = _types(request)
        try:
            body, _ = kind.decode(joined(parts), request.api_version)
        except DecodeError as error:
            raise CannotApply(f"the answer cannot be read: {error}") from None
        return cls(request, body)

    def encoded(self) -> Parts:
        """Return the answer as it is sent.

        Raises:
            CannotApply: this version cannot tell what the answer holds.
        """
        try:
            return [self.kind.encode(self.body, self.layout.version)]
        except EncodeError as error:
            raise CannotApply(str(error)) from None

    def has(self, struct: Struct, attribute: str) -> bool:
        """True if a struct of the answer has a field in this version."""
        return self.layout.has_field(type(struct).__name__, attribute)

    def set(self, struct: Struct, attribute: str, value: object) -> bool:
        """Set a field if this version has it; return False if it has not."""
        if not self.has(struct, attribute):
            return False
        setattr(struct, attribute, value)
        return True

    def set_error(self, struct: Struct, attribute: str, code: ErrorCode, text: str) -> None:
        """Set an error, and its text where there is room for one.

        Raises:
            CannotApply: this version has no such error.
        """
        if not self.set(struct, attribute, int(code)):
            raise CannotApply(f"version {self.layout.version} of the answer has no {attribute}")
        self.set(struct, _MESSAGE, text)

    def throttle(self, throttle_ms: int) -> None:
        """Set the throttle time.

        Raises:
            CannotApply: this version of the answer has none.
        """
        if not self.set(self.body, "throttle_time_ms", throttle_ms):
            raise CannotApply(f"version {self.layout.version} of the answer has no throttle time")


def decoded_request(request: Request) -> Struct:
    """Decode a request.

    Raises:
        CannotApply: it cannot be decoded.
    """
    kind, _ = _types(request)
    try:
        return kind.decode(request.body, request.api_version, request.position)[0]
    except DecodeError as error:
        raise CannotApply(f"the request cannot be read: {error}") from None


def changed_request(request: Request, body: Struct) -> Request:
    """Return a request with another body.

    Raises:
        CannotApply: this version cannot tell what the body holds.
    """
    kind, _ = _types(request)
    try:
        data = kind.encode(body, request.api_version)
    except EncodeError as error:
        raise CannotApply(str(error)) from None
    head = bytes(request.body[: request.position])
    return request._replace(body=memoryview(bytearray(head + data)))


def _types(request: Request) -> tuple[MessageType, MessageType]:
    try:
        return messages.by_api(request.api_key)
    except KeyError:
        raise CannotApply(f"there is no API {request.api_key}") from None
