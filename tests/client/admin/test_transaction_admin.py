"""Transactions from outside; the tests of `kafka transactions` see the rest."""

import socket

import pytest

from broker_lite.client import Client, NotSupported
from broker_lite.client.admin.transaction_admin import list_transactions
from broker_lite.wire import messages
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak


def tell_itself(client: socket.socket, port: int) -> None:
    """Answer Metadata with one broker."""
    _, version, correlation_id = read_request(client)
    struct = messages.MetadataResponse
    broker = struct.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port)
    answer(client, correlation_id, struct.encode(struct(brokers=[broker]), version))


@pytest.mark.parametrize(("filters", "last"), [({"longer_than_ms": 5}, 0), ({"pattern": "a.*"}, 1)])
def test_a_broker_that_cannot_filter(filters: dict[str, object], last: int) -> None:
    def serve(client: socket.socket) -> None:
        speak(client, Metadata=(0, 1), ListTransactions=(0, last))
        tell_itself(client, server.port)

    with (
        ScriptedServer(serve) as server,
        Client(server.bootstrap) as client,
        pytest.raises(NotSupported, match="broker 1 is too old for this filter of transactions"),
    ):
        list_transactions(client, **filters)  # type: ignore[arg-type]
