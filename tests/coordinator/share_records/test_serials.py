"""The numbers of states: new for each that begins, the same for one that is read again."""

from broker_lite.coordinator.share_records import serials as module
from broker_lite.coordinator.share_records.serials import Begin, Serials

KEY, OTHER = ("g", b"t" * 16, 0), ("g", b"t" * 16, 1)
BEGIN, LATER, ANEW = Begin(2, 100), Begin(2, 101), Begin(3, 100)


def test_k28_each_state_that_begins_has_another_number() -> None:
    serials = Serials()
    assert [serials.new() for _ in range(3)] == [1, 2, 3]


def test_k28_the_number_is_an_int32() -> None:
    serials = Serials()
    serials._last = module._SERIAL_MAX - 1
    assert [serials.new() for _ in range(2)] == [module._SERIAL_MAX, 1]


def test_k28_a_state_that_is_read_again_keeps_its_number() -> None:
    serials = Serials()
    serial = serials.new()
    serials.forget(5, KEY, BEGIN, serial)
    assert serials.of_read(5, OTHER, BEGIN) != serial
    assert serials.of_read(6, KEY, BEGIN) != serial
    assert serials.of_read(5, KEY, LATER) != serial
    assert serials.of_read(5, KEY, ANEW) != serial
    assert serials.of_read(5, KEY, BEGIN) == serial
    assert serials.of_read(5, KEY, BEGIN) != serial


def test_k28_what_was_read_half_does_not_take_the_place_of_the_state() -> None:
    serials = Serials()
    serial = serials.new()
    serials.forget(5, KEY, LATER, serial)
    old = serials.of_read(5, KEY, BEGIN)
    serials.forget(5, KEY, BEGIN, old)
    assert serials.of_read(5, KEY, BEGIN) not in (serial, old)
    assert serials.of_read(5, KEY, LATER) == serial


def test_nothing_is_remembered_for_longer_than_needed() -> None:
    serials = Serials()
    for place in (5, 6):
        serials.forget(place, KEY, BEGIN, serials.new())
    serials.end_reading(5)
    serials.end_reading(7)
    assert serials.of_read(5, KEY, BEGIN) == 3
    serials.forget_all()
    assert serials.of_read(6, KEY, BEGIN) == 4
