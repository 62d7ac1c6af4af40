"""The page for users of other mocks: what it writes instead exists, and is valid."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from broker_lite.testbench.control.table import RESOURCES
from broker_lite.testing import Broker
from tests.tidy.project_files import ROOT

PAGE = (ROOT / "docs/use/from-mocks.md").read_text("utf-8")
RULES = re.findall(r"`(broker\.(?:fault|hold)\([^`]+\))`", PAGE)
METHODS = re.findall(r"`broker\.(\w+)\(", PAGE)
REQUESTS = re.findall(r"`(GET|POST|PUT|PATCH|DELETE) (/v1[^` ?]*)(?: (\{[^`]+\}))?", PAGE)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(brokers=3) as started:
        yield started


@pytest.mark.parametrize("rule", dict.fromkeys(RULES))
def test_a_rule_is_valid(rule: str, broker: Broker) -> None:
    if "..." in rule:
        rule = rule.replace("...", "NOT_LEADER_OR_FOLLOWER")
    eval(rule, {"broker": broker}).remove()


@pytest.mark.parametrize(("method", "path", "body"), dict.fromkeys(REQUESTS))
def test_a_request_is_valid(method: str, path: str, body: str) -> None:
    (resource,) = (
        each
        for each in RESOURCES
        if each.method == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each.path), path)
    )
    if body:
        msgspec.json.decode(body, type=resource.body)


def test_every_method_exists() -> None:
    assert len(RULES) > 20
    assert [name for name in METHODS if not hasattr(Broker, name)] == []
