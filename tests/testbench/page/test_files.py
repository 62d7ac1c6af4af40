"""The files of the page: which there are, what is told of them, and that they need nothing else."""

import base64
import hashlib
import re
from importlib.resources import files
from pathlib import Path

import pytest

from broker_lite.testbench.page.files import is_page, page_file, policy

STATIC = Path(str(files("broker_lite.testbench.page") / "static"))
OWN = sorted(each for each in STATIC.iterdir() if each.is_file())
# The files of packages from npm as they came, without the line that names their source map.
VENDORED = {
    "preact.mjs": "preact 11.2.0",
    "hooks.mjs": "preact 11.2.0",
    "htm.mjs": "htm 3.1.1",
    "uplot.js": "uplot 1.6.32",
    "uplot.css": "uplot 1.6.32",
}


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/page/app.js", "text/javascript; charset=utf-8"),
        ("/page/page.css", "text/css; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml"),
        ("/page/vendor/preact.mjs", "text/javascript; charset=utf-8"),
    ],
)
def test_a_file_is_served_with_its_type(path: str, media_type: str) -> None:
    found = page_file(path)
    assert found is not None
    assert found.media_type == media_type
    assert found.data


@pytest.mark.parametrize(
    "path",
    ["/page/", "/page/index.html", "/page/../files.py", "/page/%2e%2e/files.py", "/page/vendor"],
)
def test_there_is_nothing_else(path: str) -> None:
    assert is_page(path)
    assert page_file(path) is None


def test_the_control_api_is_no_page() -> None:
    assert not is_page("/v1")
    assert not is_page("/pages")


def test_the_policy_names_the_import_map_and_nobody_else() -> None:
    page = page_file("/")
    assert page is not None
    (text,) = re.findall(rb'<script type="importmap">(.*?)</script>', page.data, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in policy()
    assert policy().startswith("default-src 'none';")
    assert "unsafe" not in policy()
    assert "http" not in policy()


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_file_of_ours_refers_to_another_host(path: Path) -> None:
    text = path.read_text()
    text = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"(https?:)?//[a-z0-9-]+\.[a-z]", text)


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_what_a_file_names_is_there(path: Path) -> None:
    named = re.findall(r'"(/page/[^"]+)"', path.read_text())
    named += [f"/page/{each}" for each in re.findall(r'from "\./([^"]+)"', path.read_text())]
    assert [each for each in named if page_file(each) is None] == []


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_file_of_ours_makes_markup_of_texts(path: Path) -> None:
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in path.read_text()


def test_the_libraries_are_noted_with_their_licenses() -> None:
    assert {each.name for each in (STATIC / "vendor").iterdir()} == set(VENDORED)
    notice = (Path(__file__).parents[3] / "NOTICE").read_text()
    for package in VENDORED.values():
        assert package in notice


def test_the_page_is_small() -> None:
    assert sum(each.stat().st_size for each in STATIC.rglob("*") if each.is_file()) < 200_000
