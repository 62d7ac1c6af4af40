"""Rights of clients and certificates in async tests."""

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from anyio import CancelScope
from anyio.to_thread import run_sync

if TYPE_CHECKING:
    from broker_lite.settings.declared.one_word_settings import (
        CertificateFault as CertificateFaultName,
    )
    from broker_lite.testing.acl_commands import ResourceType
    from broker_lite.testing.broker import Broker
    from broker_lite.testing.certificate_faults import CertificateFault


class AsyncSecuredCommands:
    """The methods of AclCommands and SecuredCommands as coroutines.

    Attributes:
        broker: the same broker with blocking methods.
    """

    broker: "Broker"

    def certificate_fault(
        self, fault: "CertificateFaultName", *, node: int | None = None
    ) -> "AsyncCertificateFault":
        """See Broker.certificate_fault(): `async with broker.aio.certificate_fault("expired"):`."""
        return AsyncCertificateFault(partial(self.broker.certificate_fault, fault, node=node))

    async def acls(
        self, resource_type: "ResourceType | None" = None, name: str | None = None, **selectors: str
    ) -> list[dict[str, object]]:
        """See Broker.acls()."""
        return await run_sync(partial(self.broker.acls, resource_type, name, **selectors))

    async def add_acl(
        self,
        resource_type: "ResourceType",
        name: str,
        principal: str,
        operation: str,
        *,
        pattern_type: Literal["LITERAL", "PREFIXED"] = "LITERAL",
        host: str = "*",
        permission: Literal["ALLOW", "DENY"] = "ALLOW",
    ) -> None:
        """See Broker.add_acl()."""
        add = partial(self.broker.add_acl, resource_type, name, principal, operation)
        add = partial(add, pattern_type=pattern_type, host=host, permission=permission)
        await run_sync(add)

    async def remove_acls(
        self, resource_type: "ResourceType | None" = None, name: str | None = None, **selectors: str
    ) -> list[dict[str, object]]:
        """See Broker.remove_acls()."""
        return await run_sync(partial(self.broker.remove_acls, resource_type, name, **selectors))


class AsyncCertificateFault:
    """A CertificateFault with coroutines; it is in force within the `async with`."""

    def __init__(self, make: "Callable[[], CertificateFault]") -> None:
        """Take what puts it in force."""
        self._make = make
        self._made: CertificateFault | None = None

    async def __aenter__(self) -> Self:
        """Put it in force."""
        self._made = await run_sync(self._make)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Put the right certificate back, also if the test is cancelled."""
        assert self._made is not None
        with CancelScope(shield=True):
            await run_sync(self._made.__exit__, kind, error, traceback)
