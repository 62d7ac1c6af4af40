"""The rules of docs/spec: each is a heading, its text is what stands below it.

Which rules no module implements, and why, is in rules_without_home.toml.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.tidy.project_files import project_files, text_of

SPEC: Final = Path("docs/spec")
WITHOUT_HOME: Final = Path("tests/tidy/rules_without_home.toml")

_ID: Final = r"(TV|[PRVSFEGTCXNAKU])-(\d{2,3})(?![\dA-Za-z])"
_CITATION: Final = re.compile(rf"\b{_ID}(?:\s+to\s+{_ID})?")
_HEADING: Final = re.compile(r"^(#{1,3}) (.+)$", re.MULTILINE)
_PAGES: Final = re.compile(r"\]\((\w+\.md)\)")
_SENTENCE_END: Final = re.compile(r"(?<=[.;:])\s+(?=[A-Z0-9*`(\[])")
_SHORT: Final = 200


class Rule(NamedTuple):
    """An id in its two parts, so that rules sort as people read them."""

    prefix: str
    number: int

    def __str__(self) -> str:
        return f"{self.prefix}-{self.number:02}"


class Specified(NamedTuple):
    """A rule's place and text.

    Attributes:
        page: the page that has it.
        text: everything below its heading.
    """

    page: Path
    text: str

    @property
    def says(self) -> str:
        """Its title, or what it says first."""
        first = " ".join(self.text.partition("\n\n")[0].replace("**", "").split())
        if first.startswith(("|", "```", "1. ", "- ")):
            return ""
        if len(first) > _SHORT:
            sentence, *_ = _SENTENCE_END.split(first)
            first = sentence.rstrip(";:") if len(sentence) <= _SHORT else _cut(first)
        return first


def _cut(text: str) -> str:
    """The words that fit; what is inside backticks stays whole."""
    words = text[:_SHORT].rpartition(" ")[0]
    return (words.rpartition("`")[0] if words.count("`") % 2 else words).rstrip(" ,;:(") + " …"


@cache
def specified() -> dict[Rule, Specified]:
    """Every rule there is, in the order of the pages."""
    found: dict[Rule, Specified] = {}
    for page in pages():
        for rule, text in _rules_of(text_of(page)):
            if rule in found:
                raise ValueError(f"{page}: {rule} is in {found[rule].page}, too")
            found[rule] = Specified(page, text)
    return found


def pages() -> list[Path]:
    """The pages with rules, in the order of the table in index.md."""
    names = dict.fromkeys(_PAGES.findall(text_of(SPEC / "index.md")))
    found = [SPEC / name for name in names if name != "rules.md"]
    every = {path for path in project_files() if path.parent == SPEC}
    if missing := every - {*found, SPEC / "index.md", SPEC / "rules.md"}:
        raise ValueError(f"index.md does not name {sorted(missing)}")
    return found


def title(page: Path) -> str:
    """The title of a page."""
    return text_of(page).partition("\n")[0].removeprefix("# ")


def _rules_of(text: str) -> Iterator[tuple[Rule, str]]:
    headings = list(_HEADING.finditer(text))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        id_of = re.fullmatch(_ID, heading[2])
        if id_of and heading[1] == "###":
            end = following.start() if following else len(text)
            yield Rule(id_of[1], int(id_of[2])), text[heading.end() : end].strip()


def cited_in(text: str) -> Iterator[Rule]:
    """The rules that a text cites, also ids of rules that do not exist."""
    for prefix, first, last_prefix, last in _CITATION.findall(text):
        yield Rule(prefix, int(first))
        if last:
            yield Rule(last_prefix, int(last))
            between = (Rule(prefix, number) for number in range(int(first) + 1, int(last)))
            yield from (rule for rule in between if rule in specified())


def named_in(text: str) -> Iterator[Rule]:
    """The rules that a text names by themselves, not as one between two others."""
    for prefix, first, last_prefix, last in _CITATION.findall(text):
        yield Rule(prefix, int(first))
        if last:
            yield Rule(last_prefix, int(last))


@cache
def reasons() -> dict[Rule, str]:
    """Why a rule has no home."""
    table: dict[str, Any] = tomllib.loads(text_of(WITHOUT_HOME))
    return {rule: each["reason"] for each in table["without"] for rule in cited_in(each["rules"])}
