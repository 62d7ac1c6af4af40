from broker_lite.handler.context import Request
from broker_lite.handler.groups.ask_group import caller_of
from tests.support.handler_broker import HandlerBroker


def test_a_caller_is_known_as_kafka_knows_it(broker: HandlerBroker) -> None:
    for client_id, known_as in (("c", "c"), (None, "")):
        request = Request(11, 5, 1, client_id, memoryview(b""), 0, False)
        expected = (5, known_as, "/127.0.0.1", None, True)
        assert caller_of(broker.context, request, "g") == expected
