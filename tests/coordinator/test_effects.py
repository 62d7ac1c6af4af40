"""What an event leads to is kept in the order in which it has to happen."""

from broker_lite.coordinator.effects import Effects, StateRecord


def test_records_and_replies_keep_their_order() -> None:
    effects = Effects()
    effects.write(b"a", b"1")
    effects.reply("first", 1)
    effects.write(b"a", None)
    effects.reply("second", 2)
    assert effects.records == [StateRecord(b"a", b"1"), StateRecord(b"a", None)]
    assert effects.replies == [("first", 1), ("second", 2)]
    assert effects.producer is None
