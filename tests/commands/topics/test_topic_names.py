import pytest

from broker_lite.commands.topics.topic_names import choice_of
from broker_lite.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        (None, ["a", "ab", "b.c"]),
        ("a", ["a"]),
        ("a.*", ["a", "ab"]),
        ("a, b.c", ["a", "b.c"]),
        ("a|ab", ["a", "ab"]),
        ("'a'", ["a"]),
        ('"ab"', ["ab"]),
        ("", []),
        ("c", []),
    ],
)
def test_a_choice(text: str | None, chosen: list[str]) -> None:
    assert list(filter(choice_of(text), ["a", "ab", "b.c"])) == chosen


def test_no_regular_expression() -> None:
    with pytest.raises(SettingsError, match=r"\(: not a regular expression: "):
        choice_of("(")
