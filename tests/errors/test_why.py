"""Why something was refused."""

from broker_lite.errors import CorruptMessage, Why


def test_a_reason_is_formatted_when_it_is_printed() -> None:
    formatted = []

    class Fact:
        def __format__(self, _: str) -> str:
            formatted.append(self)
            return "7"

    error = CorruptMessage().because("V-20", "it is {fact}", fact=Fact())
    assert not formatted
    assert str(error.why) == "it is 7"
    assert error.why is not None
    assert error.why.rule == "V-20"


def test_clients_do_not_see_it() -> None:
    assert CorruptMessage().because("V-20", "it is wrong").message is None
    assert CorruptMessage("Kafka's").because("V-20", "it is wrong").message == "Kafka's"


def test_an_error_has_none_by_itself() -> None:
    assert CorruptMessage("text").why is None
    assert Why("V-20", "plain", {}) == ("V-20", "plain", {})
