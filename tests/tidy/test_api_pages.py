"""Every API of Kafka's is served, or it is said why no client misses it."""

from broker_lite.handler.table import APIS
from tests.tidy.api_pages import REASONS, offered_by_kafka, reasons, unserved_apis


def test_every_api_is_served_or_has_a_reason() -> None:
    unserved = {key for key in offered_by_kafka() if key not in APIS}
    assert unserved - reasons().keys() == set(), f"add a row to {REASONS}"
    assert reasons().keys() - unserved == set(), f"it is served: take it out of {REASONS}"


def test_the_table_has_a_row_for_each() -> None:
    count, _, _, _, *rows = unserved_apis()
    assert count.startswith(f"A Kafka 4.3.1 offers {len(offered_by_kafka())} APIs")
    assert len(rows) == len(offered_by_kafka()) - sum(key in APIS for key in offered_by_kafka())
