"""Mutants: what is changed, one thing at a time, and what is left alone."""

import ast

import pytest

from tests.mutation.operators import mutated, mutations


def changes(source: str) -> list[str]:
    return [f"{each.before} -> {each.after}" for each in mutations(ast.parse(source))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", ["a < b -> a <= b"]),
        ("a == b <= c", ["a == b <= c -> a != b <= c", "a == b <= c -> a == b < c"]),
        ("x is None", ["x is None -> x is not None"]),
        ("x in y", ["x in y -> x not in y"]),
        ("a and b", ["a and b -> a or b"]),
        ("x = not a", ["not a -> a"]),
        ("x = 5", ["5 -> 6", "5 -> 4"]),
        ("SLOTS_MAX: Final = 2", ["2 -> 3", "2 -> 1"]),
        ("NEXT_MAX: Final = f(9)", ["9 -> 10", "9 -> 8"]),
        ("x = True", ["True -> False"]),
        ("x = a + b", ["a + b -> a - b"]),
        ("x += y", ["x += y -> x -= y"]),
        ("x = a if b else c", ["a if b else c -> a if not b else c"]),
        ("if a:\n    b", ["a -> not a"]),
        ("while not a:\n    break", ["not a -> a", "not a -> a", "break -> continue"]),
        ("f()", ["f() -> pass"]),
        ("raise f", ["raise f -> pass"]),
        ("def f(): return a", ["return a -> return None"]),
    ],
)
def test_changes(source: str, expected: list[str]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Text 5."""',
        "logger.info('%s', 5)",
        "assert x == 5",
        "import a",
        "def f(x: 'Literal[5]') -> 'Literal[5]': pass",
        "__slots__ = (5,)",
        "if TYPE_CHECKING:\n    x = 5",
        "f'{x:5}'",
        "_log.error('%d', 5)",
        "HELD_MAX: Final = 256",
        "READ_BYTES: Final = 4 << 20",
        "def __repr__(self): return f(5)",
        "def f(): return None",
        "def f(): return ''",
    ],
)
def test_what_no_test_has_to_notice(source: str) -> None:
    assert changes(source) == []


def test_a_mutant_has_one_change_and_its_number_names_it() -> None:
    source = "def f(a, b):\n    # why\n    return a < b and f(a, 2)\n"
    texts = [mutated(source, number) for number in range(len(changes(source)))]
    assert texts == [
        "def f(a, b):\n    return None\n",
        "def f(a, b):\n    return a < b or f(a, 2)\n",
        "def f(a, b):\n    return a <= b and f(a, 2)\n",
        "def f(a, b):\n    return a < b and f(a, 3)\n",
        "def f(a, b):\n    return a < b and f(a, 1)\n",
    ]
