"""What is made from the code is up to date; if not: python -m tests.tidy.generate."""

import pytest

from broker_lite.handler.table import APIS
from broker_lite.settings import SETTINGS
from tests.tidy import rules
from tests.tidy.project_files import ROOT
from tests.tidy.readme import PARTS, with_parts

STALE = "stale, run: python -m tests.tidy.generate"


def readme() -> str:
    return (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", list(PARTS))
def test_readme_says_what_the_code_says(name: str) -> None:
    part = "\n".join(PARTS[name]())
    assert f"<!-- made: {name} -->\n\n{part}\n\n<!-- end: {name} -->" in readme(), STALE


def test_making_the_readme_changes_nothing_else() -> None:
    assert with_parts(readme()) == readme(), STALE


def test_readme_has_every_api_and_setting() -> None:
    text = readme()
    assert [a.name for a in APIS.values() if f"| {a.name} |" not in text] == []
    shown = {name for name, setting in SETTINGS.items() if not setting.internal}
    ignored = {name for name, setting in SETTINGS.items() if setting.ignored}
    assert [name for name in shown - ignored if f"| `{name}` |" not in text] == []
    assert [name for name in ignored if f"`{name}`" not in text] == []


def test_a_part_without_markers_is_an_error() -> None:
    with pytest.raises(ValueError, match="markers of 'apis'"):
        with_parts("no markers")


def test_rules_page() -> None:
    found = (ROOT / "tests" / "RULES.md").read_text("utf-8")
    assert found == rules.rules_page(), STALE


def test_every_cited_rule_exists() -> None:
    assert rules.unknown() == []


def test_every_rule_of_the_package_has_a_test() -> None:
    assert rules.untested() == []


def test_citations() -> None:
    text = "V-01 to V-04, TV-60-x (P-100); UTF-16, KIP-500, CRC-32C, V-999"
    assert [str(rule) for rule in rules.cited_in(text)] == [
        *("V-01", "V-04", "V-02", "V-03"),
        *("TV-60", "P-100", "V-999"),
    ]


def test_citations_in_names() -> None:
    name = "test_p_04_v54_to_v56_and_tv60_in_v10_x_99_e05"
    assert [str(rule) for rule in rules.cited_in_name(name)] == [
        *("P-04", "V-54", "V-55", "V-56", "TV-60", "V-10", "E-05"),
    ]
