"""The list of fields: what is marked, and where it ends."""

import pytest

from broker_lite.explain import Field, Limits, Refused, State
from broker_lite.explain.listing import (
    Budget,
    ListFull,
    Reader,
    Unreadable,
    refuse,
    refuse_one,
)


def fields(*paths: str, unreadable: str = "") -> list[Field]:
    return [
        Field(
            index,
            1,
            "int8",
            path,
            index,
            state=State.UNREADABLE if path == unreadable else State.READ,
        )
        for index, path in enumerate(paths)
    ]


def refused(path: str | None) -> Refused:
    return Refused(None, None, "V-13", "wrong", path)


def test_the_field_is_marked_and_what_follows_is_not_read() -> None:
    listed = fields("a", "b", "c")
    found = refuse(listed, refused("b"))
    assert found == refused("b")._replace(got="1")
    assert [each.state for each in listed] == [State.READ, State.REFUSED, State.NOT_READ]
    assert listed[1].refused == found


@pytest.mark.parametrize("path", ["a", None])
def test_a_path_stands_for_the_unreadable_field_below_it(path: str | None) -> None:
    listed = fields("a.b", "a.c", "d", unreadable="a.c")
    listed[1] = listed[1]._replace(note="7")
    found = refuse(listed, refused(path))
    assert found is not None
    assert (found.path, found.expected, found.got) == ("a.c", "7", "1")


def test_there_may_be_no_such_field() -> None:
    assert refuse(fields("a"), refused("b")) is None
    assert refuse(fields("a"), refused(None)) is None


def test_one_field_is_marked_alone() -> None:
    listed = fields("a", "b", "c")
    assert refuse_one(listed, refused("b")).got == "1"
    assert [each.state for each in listed] == [State.READ, State.REFUSED, State.READ]


def test_the_budget_is_shared_and_can_be_waived() -> None:
    budget = Budget(Limits(fields_max=1))
    reader, other = (Reader(memoryview(b"abc"), budget) for _ in range(2))
    reader.fixed("int8", "a")
    with pytest.raises(ListFull):
        other.fixed("int8", "a")
    with budget.waived():
        other.fixed("int8", "a")
    with pytest.raises(Unreadable):
        reader.fixed("int64", "b")
    assert reader.fields[1].value == "bc"


@pytest.mark.parametrize(
    ("data", "expected", "size"),
    [(b"\x80", "a varint that ends before the bytes do", 1), (b"\x80" * 7, "at most 5 bytes", 5)],
)
def test_varints_that_cannot_be_read(data: bytes, expected: str, size: int) -> None:
    reader = Reader(memoryview(data), Budget(Limits()))
    with pytest.raises(Unreadable):
        reader.varint("a")
    assert [(each.note, each.size) for each in reader.fields] == [(expected, size)]
