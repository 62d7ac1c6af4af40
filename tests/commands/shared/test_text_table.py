from broker_lite.commands.shared.text_table import Column, table


def test_columns_fill_grow_or_let_stick_out() -> None:
    columns = [Column("A", 3, grows=True), Column("B", 4), Column("C", 0)]
    assert list(table(columns, [["1", 2, "x"], ["long", "stick out", ""]])) == [
        "A    B    C",
        "1    2    x",
        "long stick out ",
    ]


def test_names_alone() -> None:
    assert list(table([Column("A", 3), Column("B", 0)], [])) == ["A   B"]
