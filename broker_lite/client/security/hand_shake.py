"""TLS of a client's connections, and what its errors mean."""

import errno
import socket
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from broker_lite.client.address import Address
from broker_lite.client.connecting import reason_of
from broker_lite.client.errors import NoAnswer, NoConnection, NotTrusted

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_WANTED: Final = "the broker wants a certificate of the client: set ssl.keystore.location"
_REFUSED: Final = "the broker refuses the client's certificate"
_CLOSED: Final = "the other side closed the connection"
_NO_TLS: Final = "perhaps its listener has no TLS: see security.protocol"
_NO_AGREEMENT: Final = "SSLV3_ALERT_HANDSHAKE_FAILURE"
_NOTHING_IN_COMMON: Final = "the broker has no TLS that the client has"
# By the reason of OpenSSL: what the broker said, or sent.
_MEANINGS: Final[Mapping[str, str]] = {
    "WRONG_VERSION_NUMBER": "the listener does not speak TLS",
    "RECORD_LAYER_FAILURE": "the listener does not speak TLS",
    _NO_AGREEMENT: _NOTHING_IN_COMMON,
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": _WANTED,
    "TLSV1_ALERT_UNKNOWN_CA": "the broker does not know the CA of the client's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": _REFUSED,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the client's certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": _REFUSED,
    "TLSV1_ALERT_PROTOCOL_VERSION": "the broker has no TLS of ssl.enabled.protocols",
    "UNSUPPORTED_PROTOCOL": "the broker has no TLS of ssl.enabled.protocols",
}
_NOT_SIGNED: Final = frozenset((18, 19, 20, 21))  # self-signed, or by nobody who is known
_OTHER_NAME: Final = frozenset((62, 64))  # another host, another IP address


class _Socket(ssl.SSLSocket):
    """A connected socket; an end without a goodbye is an error of the network, as without TLS."""

    def send(self, data: "ReadableBuffer", flags: int = 0) -> int:  # type: ignore[explicit-override]
        """Send some bytes; sendall() calls it, too."""
        try:
            return super().send(data, flags)
        except ssl.SSLEOFError:
            raise ConnectionResetError(errno.ECONNRESET, _CLOSED) from None


class Tls:
    """What all TLS connections of a client share."""

    def __init__(self, context: ssl.SSLContext, *, has_certificate: bool) -> None:
        """Take the context over.

        Args:
            context: of a client.
            has_certificate: whether it has a certificate of the client.
        """
        context.sslsocket_class = _Socket
        self._context = context
        self._has_certificate = has_certificate

    def protect(self, sock: socket.socket, address: Address) -> socket.socket:
        """Shake hands over a connected socket, which must not be used any more.

        Raises:
            ClientError: it fails; the socket cannot be used.
        """
        name = address.host.partition("%")[0]  # without the scope of an IPv6 address
        try:
            name.encode("idna")
        except UnicodeError:
            raise NotTrusted(f"{address}: no certificate can be for this host's name") from None
        try:
            return self._context.wrap_socket(sock, server_hostname=name)
        except TimeoutError:
            raise NoAnswer(f"{address}: no answer to the TLS hand-shake in time") from None
        except ssl.SSLEOFError:
            raise NoConnection(f"{address}: {_CLOSED}; {_NO_TLS}") from None
        except OSError as error:
            meaning = self.meaning_of(error)
            if meaning is None:
                raise NoConnection(f"{address}: {reason_of(error)}; {_NO_TLS}") from error
            raise NotTrusted(f"{address}: {meaning}") from error

    def meaning_of(self, error: OSError) -> str | None:
        """Return what an error of a connection means; None for one of the network."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return _distrust(error)
        if not isinstance(error, ssl.SSLError):
            return None
        reason = error.reason or ""
        if reason == _NO_AGREEMENT and not self._has_certificate:
            return f"{_NOTHING_IN_COMMON}, or {_WANTED}"
        words = reason.lower().replace("_", " ") or "it broke off"
        return _MEANINGS.get(reason) or f"TLS failed: {words}"

    @property
    def guess(self) -> str:
        """Why a broker may close a connection just after the hand-shake; empty for no idea.

        The reason that it sends is lost if the client's first request reaches it after the close.
        """
        return f"perhaps {_REFUSED if self._has_certificate else _WANTED}"


def _distrust(error: ssl.SSLCertVerificationError) -> str:
    """Return why a broker's certificate is not trusted, and what to do about it."""
    why = f"its certificate is not trusted: {error.verify_message.rstrip('.')}"
    if error.verify_code in _NOT_SIGNED:
        return f"{why}: ssl.truststore.location has to have its CA"
    if error.verify_code in _OTHER_NAME:
        return f"{why}: an empty ssl.endpoint.identification.algorithm skips this check"
    return why
