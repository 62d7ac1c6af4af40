"""Charts are elements of a page, the same for the same values."""

import warnings
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from broker_lite.pipeline.report.charts import bars, histogram, over_time, times_over
from broker_lite.pipeline.report.page import Html
from tests.pipeline.support import T0

LINES = {"a<b>&$x$": [(T0, 1.0), (T0 + 1000, 2.0)], "one": [(T0, 3.0)]}

CHARTS: dict[str, Callable[[], Html]] = {
    "bars": lambda: bars("T<&", [("a<b>&$x$", 2.0), ("c" * 50, 1.0)], str),
    "histogram": lambda: histogram("T<&", "x", [(str(n), float(n)) for n in range(40)], str),
    "over time": lambda: over_time("T<&", LINES, str),
    "times over": lambda: times_over("T<&", "x", {"one": [(5, T0), (6, T0 + 1)]}, str),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_one_element(name: str) -> None:
    svg = CHARTS[name]()
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "T<&" in texts


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_the_same_every_time(name: str) -> None:
    assert CHARTS[name]() == CHARTS[name]()


def test_ids_are_of_one_chart() -> None:
    def ids(svg: str) -> set[str]:
        found = (element.get("id") for element in ElementTree.fromstring(svg).iter())
        return {one for one in found if one is not None}

    first, second = (histogram(title, "x", [("1", 1.0)], str) for title in ("a", "b"))
    assert ids(first)
    assert ids(first) & ids(second) == set()
    first, second = (over_time("same", LINES, str, scope=topic) for topic in ("a", "b"))
    assert ids(first)
    assert ids(first) & ids(second) == set()


def test_names_are_no_formulas() -> None:
    assert "a&lt;b&gt;&amp;$x$" in bars("t", [("a<b>&$x$", 1.0)], str)


def test_letters_that_a_font_lacks_are_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "\u6ce8\u6587" in bars("\u6ce8\u6587", [("\u6ce8\u6587", 1.0)], str)


@pytest.mark.parametrize("months", [0, 1, 13, 37, 50, 61, 700])
def test_any_span_has_dates_without_a_warning(months: int) -> None:
    lines = {"": [(0.0, 1.0), (months * 30.4 * 86_400_000, 2.0)]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "1970" in over_time("t", lines, str)


def test_a_long_title_is_cut_and_is_no_formula() -> None:
    assert "a$b$" in bars("a$b$", [("a", 1.0)], str)
    assert "y" * 57 not in bars("y" * 300, [("a", 1.0)], str)
