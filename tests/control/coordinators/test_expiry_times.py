from broker_lite.control.coordinators.expiry_times import ExpiryTimes, everything

PLACES = {"g": 0, "h": 1, "i": 2}


def times() -> ExpiryTimes:
    made = ExpiryTimes(PLACES.__getitem__)
    made.start(100)
    return made


def due(times: ExpiryTimes, now_ms: int) -> str:
    """The groups that are due, and their next search a hundred later."""
    is_due = times.take_due(now_ms, 100)
    return "" if is_due is None else "".join(filter(is_due, PLACES))


def test_all_partitions_share_a_time() -> None:
    made = times()
    assert made.next_ms == 100
    assert made.take_due(99, 100) is None
    assert made.take_due(120, 100) is everything
    assert made.next_ms == 220


def test_c66_a_partition_that_is_loaded_later_has_a_time_of_its_own() -> None:
    made = times()
    made.loaded(1, 140)
    assert made.next_ms == 100
    assert [due(made, now_ms) for now_ms in (99, 100, 139, 140, 199, 200, 240)] == [
        *("", "gi", "", "h", "", "gi", "h")
    ]
    assert due(made, 400) == "ghi"


def test_c66_a_partition_that_is_unloaded_has_none() -> None:
    made = times()
    made.loaded(1, 20)
    assert made.next_ms == 20
    made.unloaded(1)
    made.unloaded(2)
    assert made.next_ms == 100
    assert due(made, 20) == ""
