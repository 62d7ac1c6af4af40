"""The HTML report: what it shows, that it asks for nothing, and that no text becomes markup.

Also tests: broker_lite.load.page.plots, broker_lite.load.page.style.
"""

from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from broker_lite.load.page.page import page
from broker_lite.load.page.readout import readout
from tests.load.page.results import result
from tests.load.picture import picture

EVIL = "</script></style></title><img src=x onerror=\"alert(1)\"><svg onload='alert(2)'>&{}"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "dl", "div", "dt",
    "dd", "small", "figure", "figcaption", "svg", "rect", "text", "line", "path", "g", "section",
    "table", "tr", "th", "td",
}  # fmt: skip
EMPTY = {"meta"}


class Reader(HTMLParser):
    """The tags, attributes and texts of a page, as a browser takes them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def figure_titles(reader: Reader) -> set[str]:
    return {
        "Throughput, MB/s",
        "Latency",
        "Latency: share of requests answered within",
        "CPU, cores in use",
    } & set(reader.texts)


def test_what_it_shows() -> None:
    reader = Reader(page([readout(result(per_second=2.0))]))
    assert reader.open == []
    assert set(reader.tags) <= TAGS
    assert len(figure_titles(reader)) == 4
    texts = {text.strip() for text in reader.texts}
    assert "Nobody was the limit: the rate of 2.0 requests/s was kept." in texts
    assert {"broker-lite bench produce", "topic", "load", "200", "p99", "warm-up"} <= texts
    third = [text for text in texts if text.startswith("3 s  ·  p50 3.")]
    assert [text.partition("p99")[2] for text in third] == [" 50 ms  ·  max 50 ms"]


def test_two_runs_are_side_by_side() -> None:
    runs = [readout(result(), "A: a.json"), readout(result(), "B: b.json")]
    reader = Reader(page(runs, [("MB/s", "2.00", "2.00", "1.00")]))
    texts = {text.strip() for text in reader.texts}
    assert {"A: a.json", "B: b.json", "B / A", "A p99", "B p99", "A client"} <= texts


@pytest.mark.parametrize("is_hostile", [False, True])
def test_it_asks_for_nothing(is_hostile: bool) -> None:
    found = hostile_result() if is_hostile else result()
    text = page([readout(found, EVIL if is_hostile else "")])
    reader = Reader(text)
    assert set(reader.tags) <= TAGS  # no script, image, link or frame
    names = {name for name, _ in reader.attributes}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"src", "href", "xlink:href", "style", "data", "action", "srcset"}
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    policies = [value for name, value in reader.attributes if name == "content" and value]
    assert "default-src 'none'; style-src 'unsafe-inline'" in policies


def hostile_result() -> Any:
    found = result(topic=EVIL, **{EVIL: EVIL})
    return {
        **found,
        "kind": EVIL,
        "verdict": EVIL,
        "errors": {EVIL: 3},
        "reasons": {EVIL: EVIL},
        "retries": {EVIL: 1},
    }


def test_no_text_becomes_markup() -> None:
    runs = [readout(hostile_result(), EVIL), readout(hostile_result(), EVIL)]
    text = page(runs, [(EVIL, EVIL, EVIL, EVIL)])
    assert EVIL not in text
    assert "<img" not in text
    reader = Reader(text)
    assert reader.open == []
    assert EVIL in reader.texts


def test_each_plot_is_svg_by_itself() -> None:
    text = page([readout(result())])
    parts = text.split("<svg")[1:]
    assert len(parts) == 4
    for part in parts:
        ElementTree.fromstring("<svg" + part.partition("</svg>")[0] + "</svg>")


def test_its_size_is_bounded() -> None:
    assert len(page([readout(result(5000))])) < 400_000


@pytest.mark.parametrize("seconds", [0, 1])
def test_a_run_that_ended_at_once(seconds: int) -> None:
    reader = Reader(page([readout({**result(seconds), "interrupted": True})]))
    assert reader.open == []
    assert any("interrupted" in text for text in reader.texts)


def test_the_picture_of_the_docs() -> None:
    picture_of = picture(readout(hostile_result()))
    root = ElementTree.fromstring(picture_of)
    assert len(root.findall("{http://www.w3.org/2000/svg}svg")) == 4
    assert "<img" not in picture_of
