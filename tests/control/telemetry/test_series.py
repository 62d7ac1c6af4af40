from broker_lite.control.telemetry.series import Point, Pushed, SeriesTable


def table_of(*pushes: list[Point], room_bytes: int = 1 << 20) -> SeriesTable:
    table = SeriesTable(room_bytes)
    for number, points in enumerate(pushes):
        table.add(Pushed({}, points, 0), 1000 + number)
    return table


def test_the_last_value_counts() -> None:
    table = table_of([Point("g", (), 1.0)], [Point("g", (), 2.5, "ms")])
    assert dict(table.items()) == {("g", ()): (2.5, "ms", False, 1001)}


def test_deltas_add_up_and_totals_do_not() -> None:
    delta = Point("d", (("topic", "t"),), 2, is_counter=True, is_delta=True)
    total = Point("c", (), 2, is_counter=True)
    table = table_of([delta, total], [delta._replace(value=3), total._replace(value=3)])
    values = {name: each.value for (name, _), each in table.items()}
    assert values == {"d": 5, "c": 3}


def test_labels_make_different_series() -> None:
    table = table_of(
        [Point("g", (("a", "1"),), 1), Point("g", (("a", "2"),), 2), Point("g", (), 3)]
    )
    assert len(table) == 3


def test_what_has_no_room_is_left_out_and_known_series_go_on() -> None:
    points = [Point(f"metric-{number}", (("a", "b"),), 1) for number in range(100)]
    table = table_of(points, points, room_bytes=10_000)
    assert 10 < len(table) < 30
    assert table.size_bytes <= 10_000
    assert table.left_out == 2 * (100 - len(table))
    assert {each.updated_ms for _, each in table.items()} == {1001}


def test_values_of_other_kinds_are_counted() -> None:
    table = SeriesTable(1000)
    table.add(Pushed({}, [], 7), 0)
    assert (table.left_out, len(table)) == (7, 0)


def test_texts_count_as_many_bytes_as_they_take() -> None:
    plain = table_of([Point("m", (("a", "x" * 200),), 1)])
    wide = table_of([Point("m", (("a", "\U0001f600" * 200),), 1)])
    assert wide.size_bytes >= plain.size_bytes + 3 * 200


def test_a_unit_that_grows_counts_and_has_to_have_room() -> None:
    before, after = Point("m", (), 1), Point("m", (), 2, "u" * 200)
    small = table_of([before])
    grown = table_of([before], [after])
    assert grown.size_bytes >= small.size_bytes + 200
    assert table_of([before], [after], [before]).size_bytes == small.size_bytes
    full = table_of([before], [after], room_bytes=small.size_bytes)
    assert full.size_bytes == small.size_bytes
    assert dict(full.items()) == {("m", ()): (2, "", False, 1001)}
