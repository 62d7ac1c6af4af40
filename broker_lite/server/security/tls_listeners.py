"""TLS on the listeners of a node: its contexts, and the hand-shakes of its clients.

A difference to Kafka: with TLS 1.3, a client without the certificate that it needs gets the alert
certificate_required, as RFC 8446 wants it; Java sends bad_certificate.
"""

import logging
import ssl
from collections.abc import Mapping
from typing import Final, NamedTuple

import anyio

from broker_lite.errors import SettingsError
from broker_lite.handler.context import CloseConnection
from broker_lite.security.principal import ANONYMOUS, USER, Principal
from broker_lite.security.tls.mapping_rules import MappingRules, NoRuleMatches
from broker_lite.security.tls.stores import ServerContext, Store, server_context, stamps_of
from broker_lite.security.tls.subject import subject_of
from broker_lite.server.limits.node_limits import time_limit_s
from broker_lite.server.security.hand_shakes import Turns
from broker_lite.server.security.kernel_tls import KERNEL_TLS, has_kernel_tls
from broker_lite.server.security.tls_socket import TlsSocket
from broker_lite.settings import Settings
from broker_lite.settings.declared.declarations import listener_prefix
from broker_lite.settings.declared.one_word_settings import CertificateFault
from broker_lite.settings.listeners import WITH_SASL, WITH_TLS, parse_listeners
from broker_lite.settings.values import Value

logger = logging.getLogger("broker_lite.server")

_CLIENT_AUTH: Final = "ssl.client.auth"
_BY_KERNEL: Final = "broker.lite.kernel.tls"
_NO_CLIENT_AUTH: Final = "none"
# A client has so long for its hand-shake, however slowly its bytes come.
_HAND_SHAKE_S_MAX: Final = 30
# What OpenSSL calls bytes that are no record of TLS.
_PLAIN_TEXT: Final = frozenset(
    {"HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"}
)
# Java's words. They choose a context in Java, but not the versions that it serves.
_PROTOCOLS: Final = ("TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1", "TLS", "SSLv3", "SSL")


class Faulty(NamedTuple):
    """A context whose certificate clients have to refuse, and why they do.

    Attributes:
        fault: see security.one_word.faulty_certificate.
        context: that of the listener with another key and certificate.
    """

    fault: CertificateFault
    context: ServerContext


class TlsListener:
    """What the connections of one listener share.

    Attributes:
        context: with its key and certificate; another one may take its place at any time.
        faulty: what new connections get instead; None for nothing.
        settings: from which it is made.
    """

    def __init__(
        self,
        context: ServerContext,
        rules: MappingRules | None,
        turns: Turns,
        seconds: float,
        settings: Settings,
    ) -> None:
        """Take what a hand-shake needs.

        Args:
            context: with key and certificate; another one may take its place at any time.
            rules: make names of the subjects of certificates; None where SASL says who a client is.
            turns: of the process.
            seconds: a hand-shake is given up after so long.
            settings: from which it is made.
        """
        self.context = context
        self.faulty: Faulty | None = None
        self.settings = settings
        self._rules = rules
        self._turns = turns
        self._seconds = seconds

    @property
    def offered(self) -> ServerContext:
        """The context of new connections."""
        return self.context if self.faulty is None else self.faulty.context

    @property
    def has_sasl(self) -> bool:
        """Whether its clients authenticate by SASL, too."""
        return self._rules is None

    async def shake_hands(self, sock: TlsSocket) -> Principal:
        """Let a client shake hands, and say who it is.

        Raises:
            CloseConnection: it does not, or takes too long; the text is for a person.
            OSError: the connection is lost.

        Rule: X-38, X-40.
        See: X-37, X-39.
        """
        try:
            with anyio.fail_after(self._seconds):
                await self._turns.shake_hands(sock)
        except TimeoutError:
            raise CloseConnection("the TLS hand-shake took too long") from None
        except ssl.SSLEOFError:
            raise CloseConnection("the client left during the TLS hand-shake") from None
        except ssl.SSLError as error:
            raise CloseConnection(_reason(error)) from None
        if sock.context.options & KERNEL_TLS:
            sock.ask_kernel()
        suites = self.context.suites
        cipher = sock.cipher() if suites else None
        if cipher is not None and cipher[1] == "TLSv1.3" and cipher[0] not in suites:
            raise CloseConnection(f"the client chose {cipher[0]}, which ssl.cipher.suites lacks")
        certificate = sock.getpeercert(binary_form=True)
        if self._rules is None or certificate is None:
            return ANONYMOUS
        try:
            return Principal(USER, self._rules.name_of(subject_of(certificate)))
        except (NoRuleMatches, ValueError) as error:
            raise CloseConnection(str(error)) from None


class _Names(NamedTuple):
    """Reads the settings of one listener: its own, or else the broker's."""

    settings: Settings
    listener: str

    def value(self, name: str) -> Value:
        return self.settings.value_for_listener(self.listener, name)

    def text(self, name: str) -> str | None:
        value = self.value(name)
        return None if value is None else str(value)


def tls_listeners(settings: Settings, turns: Turns) -> Mapping[str, TlsListener]:
    """Return the TLS listeners of a broker by their names.

    Raises:
        SettingsError: a store or a rule cannot be used; one line without a secret.
    """
    return {
        listener.name: _tls_listener(
            settings, listener.name, turns, has_sasl=listener.security_protocol in WITH_SASL
        )
        for listener in parse_listeners(settings)
        if listener.security_protocol in WITH_TLS
    }


def context_of(
    settings: Settings,
    listener: str,
    *,
    has_sasl: bool,
    stores: Settings | None = None,
    keys: Store | None = None,
) -> ServerContext:
    """Read the stores of a listener, and make its context; call it in a thread where clients wait.

    Args:
        settings: of the broker.
        listener: its name.
        has_sasl: whether its clients authenticate by SASL, too.
        stores: the settings that name the stores, if these are others.
        keys: takes the place of the key store.

    Raises:
        SettingsError: a store cannot be used; one line without a secret.
        Mismatched: settings of a store do not go together.
    """
    names = _Names(settings, listener)
    protocol = names.text("ssl.protocol") or ""
    if protocol not in _PROTOCOLS:
        raise SettingsError(f"ssl.protocol: {protocol!r} is not one of {', '.join(_PROTOCOLS)}")
    protocols, suites = names.value("ssl.enabled.protocols"), names.value("ssl.cipher.suites")
    assert isinstance(protocols, tuple)
    assert isinstance(suites, tuple)
    key_store, trust_store = _stores(_Names(stores or settings, listener))
    context = server_context(
        keys or key_store,
        trust_store,
        client_auth=_client_auth(names, has_sasl=has_sasl),
        protocols=protocols,
        suites=suites,
    )
    if names.value(_BY_KERNEL) and has_kernel_tls():
        context.options |= KERNEL_TLS
    return context


def is_changed_on_disk(settings: Settings, listener: str, context: ServerContext) -> bool:
    """Tell whether a file of a listener's stores has changed since its context was made."""
    return stamps_of(*_stores(_Names(settings, listener))) != context.stamps


def _stores(names: _Names) -> tuple[Store, Store]:
    """Return the key store and the trust store of a listener."""
    return (
        Store(
            names.text("ssl.keystore.type") or "",
            names.text("ssl.keystore.location"),
            names.text("ssl.keystore.password"),
            names.text("ssl.keystore.key"),
            names.text("ssl.keystore.certificate.chain"),
            names.text("ssl.key.password"),
        ),
        Store(
            names.text("ssl.truststore.type") or "",
            names.text("ssl.truststore.location"),
            names.text("ssl.truststore.password"),
            certificates=names.text("ssl.truststore.certificates"),
        ),
    )


def _tls_listener(settings: Settings, name: str, turns: Turns, *, has_sasl: bool) -> TlsListener:
    """Make a listener; if what was set while the broker ran cannot be used, without that.

    Raises:
        SettingsError: what was set at the start cannot be used.
    """
    try:
        return _made(settings, name, turns, has_sasl=has_sasl)
    except (SettingsError, ValueError) as error:
        at_start = settings.with_dynamic({})
        if not (settings.dynamic or settings.dynamic_default):
            raise SettingsError(f"listener {name}: {error}") from error
        try:
            listener = _made(at_start, name, turns, has_sasl=has_sasl)
        except (SettingsError, ValueError):
            raise SettingsError(f"listener {name}: {error}") from error
        logger.error(
            "listener %s: its dynamic configs cannot be used, so those of the start are: %s",
            name,
            error,
        )
        return listener


def _made(settings: Settings, name: str, turns: Turns, *, has_sasl: bool) -> TlsListener:
    names = _Names(settings, name)
    context = context_of(settings, name, has_sasl=has_sasl)
    rules = None if has_sasl else MappingRules(names.text("ssl.principal.mapping.rules") or "")
    if has_sasl and not _has_own_client_auth(names):
        _warn_of_client_auth(names)
    if names.value(_BY_KERNEL) and not has_kernel_tls():
        logger.warning(
            "%s: this kernel has no TLS, so the broker encrypts what listener %s sends; load the "
            "kernel's module tls",
            _BY_KERNEL,
            name,
        )
    seconds = time_limit_s(settings, _HAND_SHAKE_S_MAX)
    return TlsListener(context, rules, turns, seconds, settings)


def _client_auth(names: _Names, *, has_sasl: bool) -> str:
    """Return whether clients of a listener need a certificate.

    See: X-37 (SaslChannelBuilder).
    """
    if has_sasl and not _has_own_client_auth(names):
        return _NO_CLIENT_AUTH
    return names.text(_CLIENT_AUTH) or ""


def _has_own_client_auth(names: _Names) -> bool:
    return names.settings.own_of_listener(names.listener, _CLIENT_AUTH) is not None


def _warn_of_client_auth(names: _Names) -> None:
    if names.settings.value(_CLIENT_AUTH) != _NO_CLIENT_AUTH:
        logger.warning(
            "%s has no effect on listener %s, where clients authenticate by SASL; for both, set "
            "%s%s",
            _CLIENT_AUTH,
            names.listener,
            listener_prefix(names.listener),
            _CLIENT_AUTH,
        )


def _reason(error: ssl.SSLError) -> str:
    if error.reason in _PLAIN_TEXT:
        return "the client spoke plain text to a TLS listener"
    reason = (error.reason or "no reason is known").lower().replace("_", " ")
    return f"the TLS hand-shake failed: {reason}"
