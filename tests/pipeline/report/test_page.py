"""A page is whole by itself, and what is in a log stays text in it."""

from html.parser import HTMLParser

import pytest

from broker_lite.pipeline.report.page import (
    Column,
    Html,
    Tile,
    charts,
    code,
    page,
    section,
    table,
    tiles,
)

HOSTILE = '<script>alert("x")</script>&'
ESCAPED = "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;"
EMPTY = {"meta", "br"}


class _Balance(HTMLParser):
    """Notes the open elements, and fails on one that is closed out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # type: ignore[explicit-override]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:  # type: ignore[explicit-override]
        assert self.open.pop() == tag


def test_a_page_is_balanced_and_needs_nothing() -> None:
    text = page(
        "title",
        "path",
        [
            tiles([Tile("1", "one"), Tile("2", "two", "bad")]),
            section("a", "b", table([Column("c", True)], [["1"]]), charts(Html("<svg></svg>"))),
        ],
    )
    balance = _Balance()
    balance.feed(text)
    assert balance.open == []
    assert "default-src 'none'" in text
    assert not any(word in text for word in ("http://", "https://", "<script", "src=", "@import"))


@pytest.mark.parametrize(
    "text",
    [
        page(HOSTILE, HOSTILE, []),
        section(HOSTILE, HOSTILE),
        tiles([Tile(HOSTILE, HOSTILE)]),
        table([Column(HOSTILE)], [[HOSTILE]]),
        code(HOSTILE),
    ],
    ids=["page", "section", "tiles", "table", "code"],
)
def test_text_is_escaped(text: str) -> None:
    assert ESCAPED in text
    assert "<script" not in text


def test_what_is_escaped_already_stays() -> None:
    assert "<td><code>a&amp;b</code></td>" in table([Column("x")], [[code("a&b")]])
