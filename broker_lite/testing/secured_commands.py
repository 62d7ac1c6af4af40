"""Security of a broker under test: what its clients have to be told, and wrong certificates."""

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, overload
from urllib.parse import quote

from broker_lite.testing.acl_commands import AclCommands
from broker_lite.testing.controlled import elements, members
from broker_lite.testing.processes.forks import BrokerFailed

if TYPE_CHECKING:
    from broker_lite.security.one_word.client_settings import Access
    from broker_lite.settings.declared.one_word_settings import (
        CertificateFault as CertificateFaultName,
    )
    from broker_lite.testing.certificate_faults import CertificateFault

TextKind: TypeAlias = Literal["confluent", "librdkafka", "java"]
"""Clients whose settings are texts."""
ObjectKind: TypeAlias = Literal["aiokafka", "kafka-python", "kafkajs"]
"""Clients whose settings have other values, too."""

_USERS: Final = "broker.lite.security.users"
_MECHANISM: Final = "SCRAM-SHA-512"


class SecuredCommands(AclCommands):
    """How clients reach a broker, secured or not; certificates that they have to refuse.

    Attributes:
        settings: as given, by Kafka's names.
    """

    settings: dict[str, str]

    @overload
    def client_config(
        self, client: TextKind, *, user: str = ..., mechanism: str = ..., password: str = ...
    ) -> dict[str, str]: ...

    @overload
    def client_config(
        self, client: ObjectKind, *, user: str = ..., mechanism: str = ..., password: str = ...
    ) -> dict[str, object]: ...

    def client_config(
        self,
        client: str,
        *,
        user: str = "user",
        mechanism: str = _MECHANISM,
        password: str = "",
    ) -> dict[str, str] | dict[str, object]:
        """Return all settings by which a client reaches the broker: `Producer(**config)`.

        Without security that is the address. Certificates are in the settings; no file is needed.

        Args:
            client: confluent (or librdkafka), java, aiokafka, kafka-python or kafkajs.
            user: one of the broker's users.
            mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER, where the broker wants
                one.
            password: of a user that neither everybody has nor this process has named.

        Raises:
            BrokerFailed: the broker does not run, has no such user, or is secured by settings of
                its own.
        """
        from broker_lite.testing import client_configs

        make = client_configs.MAKERS.get(client)
        if make is None:
            known = ", ".join(client_configs.MAKERS)
            raise ValueError(f"no client is called {client!r}, only {known}")
        return make(self._access(user, mechanism, password))

    def certificate_fault(
        self, fault: "CertificateFaultName", *, node: int | None = None
    ) -> "CertificateFault":
        """Let new clients refuse the certificate: `with broker.certificate_fault("expired"):`.

        Open connections go on. Leaving the context puts the right certificate back, and so do
        clear_faults(), reset(), restore(), a restart and each next test of the fixtures.

        Args:
            fault: expired, not_yet_valid, wrong_host, self_signed or unknown_ca. The first three
                need a broker with security="ssl", "mtls" or "sasl_ssl", which has its CA's key.
            node: the only broker of a cluster that has it; None for all.

        Raises:
            BrokerFailed: it speaks no TLS, or cannot make such a certificate.
        """
        from broker_lite.testing.certificate_faults import CertificateFault

        return CertificateFault(self, fault, node)

    def _access(self, user: str, mechanism: str, password: str) -> "Access":
        from broker_lite.security.one_word.client_settings import Access, key_and_certificate

        view = self._control("GET", "/v1/security")
        protocol = str(view["protocol"])
        access = Access(self._reached(str(view["bootstrap"])), protocol)
        if not view["security"]:
            return access
        users = {
            str(each["name"]): each["password"] for each in map(members, elements(view["users"]))
        }
        if user not in users:
            raise BrokerFailed(f"the broker has no user {user!r}, only {', '.join(users)}")
        if protocol.startswith("SASL"):
            secret = password or str(users[user] or "") or self._given_password(user)
            if mechanism not in elements(view["mechanisms"]):
                raise BrokerFailed(f"the broker has no mechanism {mechanism}")
            access = access._replace(mechanism=mechanism, user=user, password=secret)
        if protocol.endswith("SSL"):
            access = access._replace(ca=str(self.control("GET", "/v1/security/ca.pem")))
        if view["security"] == "mtls":
            path = f"/v1/security/client.pem?user={quote(user, safe='')}"
            key, certificate = key_and_certificate(str(self.control("GET", path)))
            access = access._replace(client_key=key, client_certificate=certificate, user=user)
        return access

    def _given_password(self, user: str) -> str:
        """Return the password of a user that this process has named."""
        for line in self.settings.get(_USERS, "").splitlines():
            name, _, password = line.strip().partition(":")
            if name == user:
                return password
        raise BrokerFailed(f"the password of {user} is not known here; write password=...")

    def _reached(self, bootstrap: str) -> str:
        """Return addresses as they are reached from here."""
        return bootstrap

    def _plain_bootstrap(self, bootstrap: str) -> str:
        """Return where a client that neither speaks TLS nor logs in reaches the broker.

        Args:
            bootstrap: where others reach it.

        Raises:
            BrokerFailed: there is no such address.
        """
        if "broker.lite.security" not in self.settings:
            return bootstrap
        plain = str(self._control("GET", "/v1/security")["plaintext"])
        if not plain:
            raise BrokerFailed(
                "topics and records of a broker without a PLAINTEXT listener are not reached from "
                "here; leave out security_only, or give client_properties"
            )
        return plain
