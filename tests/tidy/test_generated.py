"""What is made from the code is up to date; if not: python -m tests.tidy.generate."""

from pathlib import Path

import pytest

from broker_lite.handler.table import APIS
from broker_lite.settings import SETTINGS
from tests.tidy import rules
from tests.tidy.generate import everything_made
from tests.tidy.pages import PARTS, pages, parts_of, with_parts
from tests.tidy.project_files import text_of
from tests.tidy.specified import WITHOUT_HOME, cited_in, named_in


def made(name: str) -> str:
    return "\n".join(PARTS[name]())


def test_every_part_is_on_one_page() -> None:
    found = [name for page in pages() for name in parts_of(text_of(page))]
    assert sorted(found) == sorted(PARTS)


def test_nothing_that_is_made_is_stale() -> None:
    stale = [str(path) for path, text in everything_made() if text_of(path) != text]
    assert stale == [], "run: python -m tests.tidy.generate"


def test_every_api_and_setting_is_told() -> None:
    apis, settings, ignored = made("apis"), made("all settings"), made("ignored settings")
    assert [a.name for a in APIS.values() if f"| {a.name} |" not in apis] == []
    shown = {name for name, setting in SETTINGS.items() if not setting.internal}
    without_effect = {name for name, setting in SETTINGS.items() if setting.ignored}
    assert [name for name in shown - without_effect if f"| `{name}` |" not in settings] == []
    assert [name for name in without_effect if f"`{name}`" not in ignored] == []


def test_every_limit_is_told() -> None:
    """The table of limits is written by hand, because it says what happens at each of them."""
    told = text_of(Path("docs/reference/limits.md"))
    limits = [name for name, each in SETTINGS.items() if each.own and "max" in name.split(".")]
    missing = [name for name in limits if f"`{name}`" not in told]
    assert missing == [], "add a row to docs/reference/limits.md"


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ("<!-- made: apis -->\n\n", "'apis' has no end"),
        ("<!-- made: tea -->\n<!-- end: tea -->", "no part 'tea'"),
    ],
)
def test_a_page_whose_markers_are_wrong(page: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        with_parts(page)


def test_a_page_without_markers_stays() -> None:
    assert with_parts("# A title\n") == "# A title\n"


def test_links_of_the_rules_name_their_page() -> None:
    """What a rule says is copied from its page, where a link may stand for that page alone."""
    assert "](#" not in rules.rules_page()


def test_every_cited_rule_exists() -> None:
    assert rules.unknown() == [], "correct the id, or write the rule: a heading in docs/spec"


def test_a_rule_has_one_home() -> None:
    assert rules.of_several_homes() == [], (
        "`Rule:` is for the module that implements the rule, the others say `See:`"
    )


def test_a_rule_without_a_home_has_a_reason() -> None:
    assert rules.homeless() == [], (
        "the module that implements the rule says `Rule: V-20 (KafkaClass).` in a docstring; a rule"
        f" that no module can implement gets a reason in {WITHOUT_HOME}"
    )


def test_reasons_are_of_rules_without_a_home() -> None:
    assert rules.excused_in_vain() == [], f"take them out of {WITHOUT_HOME}"


def test_every_rule_with_a_home_has_a_test() -> None:
    assert rules.untested() == [], (
        "write a test with the id in its name (def test_v20_what_it_does) or among its parameters;"
        " a range as V-14 to V-59 is not enough"
    )


def test_what_a_module_implements() -> None:
    text = '''"""Rule: V-01 to V-03 (Kafka, V-20), V-06, and V-07.

    See: V-08.
    Rule: V-09: V-10
    """  # Rule: V-11'''
    assert sorted(map(str, rules.implemented_in(text))) == ["V-01", "V-02", "V-03", "V-06", "V-09"]


def test_citations() -> None:
    text = "V-01 to V-04, TV-60-x (P-100); UTF-16, KIP-500, CRC-32C, V-999"
    assert [str(rule) for rule in cited_in(text)] == [
        *("V-01", "V-04", "V-02", "V-03"),
        *("TV-60", "P-100", "V-999"),
    ]


def test_what_is_named_by_itself() -> None:
    assert [str(rule) for rule in named_in("V-01 to V-04, V-06")] == ["V-01", "V-04", "V-06"]


def test_citations_in_names() -> None:
    name = "test_p_04_v54_to_v56_and_tv60_in_v10_x_99_e05"
    assert [str(rule) for rule in rules.cited_in_name(name)] == [
        *("P-04", "V-54", "V-55", "V-56", "TV-60", "V-10", "E-05"),
    ]
