"""A wrong certificate of a broker under test, as a context manager."""

from types import TracebackType
from typing import Final, Self

from broker_lite.testing.controlled import Controlled, given
from broker_lite.testing.processes.forks import BrokerFailed

_PATH: Final = "/v1/security/certificates"


class CertificateFault:
    """A wrong certificate that new clients get: `with broker.certificate_fault("expired"):`.

    Leaving the context puts the right one back.
    """

    def __init__(self, broker: Controlled, fault: str, node: int | None) -> None:
        """Put it in force; see SecuredCommands.certificate_fault()."""
        self._broker = broker
        self._node = node
        broker.control("PUT", _PATH, given({"fault": fault, "broker": node}))

    def remove(self) -> None:
        """Put the right certificate back."""
        query = "" if self._node is None else f"?broker={self._node}"
        self._broker.control("DELETE", _PATH + query)

    def __enter__(self) -> Self:
        """Return itself; it is in force already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Put the right certificate back."""
        try:
            self.remove()
        except BrokerFailed:
            if error is None:
                raise  # else the first error is the one to be told
