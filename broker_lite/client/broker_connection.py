"""One blocking connection to a broker.

Responses arrive in the order of the requests, so several requests may be in flight: call `send` for
each, then `receive` as often. `request` does one of each. The connection asks for the broker's
versions once, when it opens; every request uses the highest version that both sides support.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple, NoReturn, Protocol, Self, TypeVar, cast

from broker_lite import __version__
from broker_lite.client.address import Address
from broker_lite.client.connecting import connect, is_readable, reason_of
from broker_lite.client.deadline import Deadline
from broker_lite.client.errors import (
    BadAnswer,
    NoAnswer,
    NoConnection,
    NotSupported,
    NotTrusted,
    check,
)
from broker_lite.errors import ErrorCode
from broker_lite.wire import DecodeError, EncodeError, messages

API_VERSIONS: Final = 18
API_VERSIONS_VERSION: Final = 3  # from Kafka 2.4 on; older ones answer with an error in version 0
ANSWER_BYTES_MAX: Final = 256 << 20
FIRST_ANSWER_BYTES_MAX: Final = 1 << 20
IDLE_S: Final = 10  # brokers close idle connections, but not sooner (connections.max.idle.ms)
_SESSION_SHARE: Final = 0.85  # of a session, after which the client logs in again, as Java's do
_SESSION_S_MIN: Final = 1.0  # brokers refuse to log in again sooner
_GUESS: Final = "perhaps its listener has TLS or SASL: see security.protocol"
_SASL_GUESS: Final = "perhaps its listener has SASL: see security.protocol"
_UNSUPPORTED: Final = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
_SOFTWARE: Final = "broker-lite"
_CHUNK_BYTES_MAX: Final = 1 << 20
_SIZE = struct.Struct(">i")
_HEAD = struct.Struct(">ihhih")  # size, api key, version, correlation id, length of the client id
_HEAD_BYTES_AFTER_SIZE: Final = 10
_Answer = TypeVar("_Answer", bound="messages.Message")


class ApiVersion(NamedTuple):
    """The versions of an API that a broker supports, both ends included."""

    first: int
    last: int


class Security(Protocol):
    """How connections are protected, and how a client says who it is.

    See broker_lite.client.security.
    """

    def protect(self, sock: socket.socket, address: Address) -> socket.socket:
        """Return what to use instead of a connected socket, or close it and raise ClientError."""

    def log_in(self, connection: Connection) -> float:
        """Say who the client is, or raise ClientError; return for how many seconds, 0 for ever."""

    def meaning_of(self, error: OSError) -> str | None:
        """Return what an error after protect() means; None for one of the network."""

    @property
    def guess(self) -> str:
        """Why a broker may close a connection before it answers anything; empty for no idea."""


class _Sent(NamedTuple):
    correlation_id: int
    response: messages.MessageType
    version: int
    flexible: bool


class Connection:
    """An open connection; a context manager.

    An error in sending or receiving closes it: requests and responses would no longer match.
    """

    def __init__(
        self,
        address: Address,
        *,
        client_id: str = _SOFTWARE,
        timeout_s: float = 30,
        security: Security | None = None,
    ) -> None:
        """Connect, ask the broker for its versions, and log in.

        Args:
            address: of the broker.
            client_id: sent with every request.
            timeout_s: how long to wait for the connection, and by default for each response.
            security: None for plain text.

        Raises:
            UnknownHost: the name cannot be resolved.
            NotTrusted: TLS fails.
            LoginRefused: the broker does not accept the login.
            NoConnection: no broker listens there, or it closed the connection.
            NoAnswer: no connection or no response in time.
            BadAnswer: not a Kafka broker.
        """
        self.address = address
        self.versions: Mapping[int, ApiVersion] = {}
        self._client_id = client_id.encode()
        self._timeout_s = timeout_s
        self._correlation_id = 0
        self._sent: deque[_Sent] = deque()
        self._answer_bytes_max = FIRST_ANSWER_BYTES_MAX
        self._security = security
        self._login_due: Deadline | None = None
        self._is_known = False
        self._idle = Deadline(IDLE_S)
        deadline = Deadline(timeout_s)
        self._socket = connect(address, timeout_s)
        try:
            if security is not None:
                self._socket = security.protect(self._socket, address)
            self.versions = self._ask_versions(deadline)
            if security is not None:
                self._log_in(security)
        except BaseException:
            self.close()
            raise
        self._answer_bytes_max = ANSWER_BYTES_MAX

    @property
    def closed(self) -> bool:
        """Whether the connection is closed."""
        return self._socket.fileno() < 0

    def fileno(self) -> int:
        """Return the descriptor for select and poll; readable when a response arrives."""
        return self._socket.fileno()

    @property
    def raw_socket(self) -> socket.socket:
        """The socket, for who sends frames of its own; send() and receive() would mix with them."""
        return self._socket

    @property
    def must_log_in(self) -> bool:
        """Whether its session ends soon: send() would log in again."""
        return self._login_due is not None and not self._login_due.remaining_s

    def has_arrived(self, wait_s: float) -> bool:
        """Wait for the response to the only request in flight; return whether it arrives."""
        return self.closed or is_readable(self, wait_s)

    def has_ended(self) -> bool:
        """Tell whether it is closed; the broker may have done it because it was idle for long."""
        if not self._idle.remaining_s and not self._sent and self.has_arrived(0):
            self.close()  # no answer is to come, so it is the end
        return self.closed

    def close(self) -> None:
        """Close it; a second call does nothing."""
        self._socket.close()

    def version_of(self, request: messages.MessageType, version_max: int | None = None) -> int:
        """Return the highest version of a request that both sides support.

        Args:
            request: a message type, for example messages.FetchRequest.
            version_max: the highest version that the caller can use.

        Raises:
            NotSupported: there is no common version.
        """
        assert request.api_key is not None
        offered = self.versions.get(request.api_key)
        api = request.name.removesuffix("Request")
        if offered is None:
            raise NotSupported(f"{self.address}: the broker does not have the API {api}")
        highest = request.max_version if version_max is None else version_max
        version = min(offered.last, request.max_version, highest)
        if version < max(offered.first, request.min_version):
            raise NotSupported(
                f"{self.address}: the broker has {api} in versions {offered.first} to"
                f" {offered.last}, which are not known here"
            )
        return version

    def request(
        self,
        value: messages.Request[_Answer],
        *,
        timeout_s: float | None = None,
        version_max: int | None = None,
    ) -> _Answer:
        """Send a request and return the response; no other request may be in flight.

        Args:
            value: a request, messages.MetadataRequest(...) for example.
            timeout_s: how long to wait for the response; None for the connection's timeout.
            version_max: the highest version to use.

        Raises:
            ClientError: see send() and receive().
        """
        assert not self._sent, "answers of other requests come first"
        self.send(value, version_max=version_max)
        return self.receive(cast("type[_Answer]", self._sent[0].response), timeout_s)

    def send(
        self,
        value: messages.Request[messages.Message],
        *,
        version_max: int | None = None,
        answered: bool = True,
    ) -> int:
        """Send a request without waiting for the response.

        Args:
            value: a request.
            version_max: the highest version to use.
            answered: False if the broker sends no response (Produce with acks=0).

        Returns:
            The version that was used.

        Raises:
            NotSupported: there is no common version, or it cannot encode the value.
            NoConnection: the connection ended.
            NoAnswer: the broker does not read.
            LoginRefused: the session ends soon, and the broker does not renew it.
        """
        if self.must_log_in and not self._sent:
            assert self._security is not None
            self._log_in(self._security)
        request = messages.message(type(value).__name__)
        version = self.version_of(request, version_max)
        self._send(request, value, version, answered=answered)
        return version

    def receive(self, answer: type[_Answer], timeout_s: float | None = None) -> _Answer:
        """Receive the response to the oldest request in flight.

        Args:
            answer: its type, messages.MetadataResponse for example.
            timeout_s: how long it may take; None is what the connection was made with.

        Raises:
            NoConnection: the connection ended.
            NoAnswer: there is no response in time.
            BadAnswer: the response cannot be decoded.
        """
        sent = self._sent.popleft()
        assert sent.response.name == answer.name
        body = self._receive_body(
            sent, Deadline(self._timeout_s if timeout_s is None else timeout_s)
        )
        self._is_known = True
        return self._decode(answer, body, sent.version)

    def exchange_raw(self, data: bytes) -> bytes:
        """Send a frame without a header, and return the one that comes back (X-09).

        Raises:
            ClientError: see receive().
        """
        self._send_bytes(_SIZE.pack(len(data)) + data)
        deadline = Deadline(self._timeout_s)
        (size,) = _SIZE.unpack(self._read(_SIZE.size, deadline))
        if not 0 <= size <= self._answer_bytes_max:
            self._refuse(f"an answer of {size} bytes")
        return bytes(self._read(size, deadline))

    def _log_in(self, security: Security) -> None:
        """Log in, and note when that has to be done again."""
        self._login_due = None
        lifetime_s = security.log_in(self)
        if lifetime_s:
            self._login_due = Deadline(max(lifetime_s * _SESSION_SHARE, _SESSION_S_MIN))

    def _ask_versions(self, deadline: Deadline) -> Mapping[int, ApiVersion]:
        """Ask in the newest version; a broker that does not support it responds in version 0."""
        value = messages.ApiVersionsRequest(
            client_software_name=_SOFTWARE, client_software_version=__version__
        )
        version = API_VERSIONS_VERSION
        body = self._ask(value, version, deadline)
        if body[:2] == _UNSUPPORTED and version > 0:
            version = 0
            body = self._ask(messages.ApiVersionsRequest(), version, deadline)
        answer = self._decode(messages.ApiVersionsResponse, body, version)
        check(f"{self.address}: ApiVersions", answer.error_code)
        return {
            key.api_key: ApiVersion(key.min_version, key.max_version) for key in answer.api_keys
        }

    def _ask(
        self, value: messages.ApiVersionsRequest, version: int, deadline: Deadline
    ) -> memoryview:
        self._send(messages.ApiVersionsRequest, value, version, answered=True)
        return self._receive_body(self._sent.popleft(), deadline)

    def _send(
        self, kind: messages.MessageType, value: messages.Message, version: int, *, answered: bool
    ) -> None:
        try:
            body = kind.encode(value, version)
        except EncodeError as error:
            raise NotSupported(f"{self.address}: {error}") from error
        flexible = kind.flexible_from is not None and version >= kind.flexible_from
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        size = _HEAD_BYTES_AFTER_SIZE + len(self._client_id) + flexible + len(body)
        head = _HEAD.pack(size, kind.api_key, version, self._correlation_id, len(self._client_id))
        self._send_bytes(b"".join((head, self._client_id, bytes(flexible), body)))
        if answered:
            response = messages.message(kind.name.removesuffix("Request") + "Response")
            self._sent.append(_Sent(self._correlation_id, response, version, flexible))

    def _send_bytes(self, data: bytes) -> None:
        self._idle = Deadline(IDLE_S)
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(data)
        except OSError as error:
            self._fail(error, self._timeout_s)

    def _receive_body(self, sent: _Sent, deadline: Deadline) -> memoryview:
        (size,) = _SIZE.unpack(self._read(_SIZE.size, deadline))
        # the ApiVersions response always has the old header, because the client knows no versions
        # yet
        flexible = sent.flexible and sent.response.api_key != API_VERSIONS
        head_bytes = _SIZE.size + flexible
        if not head_bytes <= size <= self._answer_bytes_max:
            self._refuse(f"an answer of {size} bytes")
        frame = memoryview(self._read(size, deadline))
        (correlation_id,) = _SIZE.unpack_from(frame)
        if correlation_id != sent.correlation_id:
            self._refuse(f"an answer to request {correlation_id} instead of {sent.correlation_id}")
        if flexible and frame[_SIZE.size]:
            self._refuse("an answer with tags in its header")
        return frame[head_bytes:]

    def _read(self, size: int, deadline: Deadline) -> bytearray:
        """Read a number of bytes; memory grows only with the bytes that arrive."""
        data = bytearray()
        while len(data) < size:
            try:
                # a timeout of 0 would make the socket non-blocking
                self._socket.settimeout(deadline.remaining_s or 1e-6)
                chunk = self._socket.recv(min(size - len(data), _CHUNK_BYTES_MAX))
            except OSError as error:
                self._fail(error, deadline.timeout_s)
            if not chunk:
                self.close()
                self._lose("the other side closed the connection")
            data += chunk
        return data

    def _decode(self, response: type[_Answer], body: memoryview, version: int) -> _Answer:
        try:
            value, _ = response.decode(body, version)
        except DecodeError as error:
            self._refuse(str(error))
        return value

    def _refuse(self, reason: str) -> NoReturn:
        self.close()
        raise BadAnswer(f"{self.address}: not a Kafka broker's answer: {reason}")

    def _fail(self, error: OSError, timeout_s: float) -> NoReturn:
        if self.closed:
            raise NoConnection(f"{self.address}: the connection is closed") from error
        self.close()
        if isinstance(error, TimeoutError):
            raise NoAnswer(f"{self.address}: no answer within {timeout_s:g} s") from error
        meaning = None if self._security is None else self._security.meaning_of(error)
        if meaning is not None:
            raise NotTrusted(f"{self.address}: {meaning}") from error
        self._lose(reason_of(error), error)

    def _lose(self, reason: str, error: OSError | None = None) -> NoReturn:
        """Raise, with a guess if the broker has answered nothing but versions."""
        guess = "" if self._is_known else _GUESS
        if self._security is not None and guess:
            guess = _SASL_GUESS if self.versions else self._security.guess
        text = f"{reason}; {guess}" if guess else reason
        raise NoConnection(f"{self.address}: {text}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
