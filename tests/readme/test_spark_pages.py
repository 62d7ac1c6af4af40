"""The pages about Spark and logs: their steps work as they stand, and print what the pages say."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.readme.printed_page import PRINTED_ADDRESS
from tests.readme.spark_page import Step, do, steps
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.toolchain import require
from tests.tidy.project_files import ROOT

TIMEOUT_S: Final = 570
OF_LOGS: Final = ("spark", "lake", "jobs", "write")
"""One after the other in a folder, because each reads what is there after the one before."""
FOLLOWED: Final = ("streams",)
"""Pages without a step that ends by itself."""


def work_through(folder: Path, *pages: str, broker: str = PRINTED_ADDRESS) -> None:
    paths = [f"docs/logs/{page}.md" for page in pages]
    done = subprocess.run(
        [sys.executable, "-m", "tests.readme.spark_page", "--broker", broker, *paths],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT_S + 30)
def test_pages_of_logs(tmp_path: Path) -> None:
    require("java")
    work_through(tmp_path, *OF_LOGS)
    assert (tmp_path / "verify.html").stat().st_size > 0
    assert (tmp_path / "report.html").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.client
@pytest.mark.timeout(TIMEOUT_S + 30)
def test_the_page_of_registries(tmp_path: Path) -> None:
    require("java")
    with BrokerProcess(tmp_path / "data") as broker:
        work_through(tmp_path, "registry", broker=broker.bootstrap)


@pytest.mark.slow
@pytest.mark.client
def test_the_pages_of_searches_and_replays(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", settings=(KEEP,)) as broker:
        work_through(tmp_path, "search", broker=broker.bootstrap)
    with BrokerProcess(tmp_path / "other") as broker:
        work_through(tmp_path, "replay", broker=broker.bootstrap)
    assert (tmp_path / "other/orders-copy-0").is_dir()


@pytest.mark.parametrize("page", [*OF_LOGS, "registry", "search", "replay"])
def test_every_page_has_steps(page: str) -> None:
    assert steps((ROOT / f"docs/logs/{page}.md").read_text("utf-8"))


@pytest.mark.parametrize("page", FOLLOWED)
def test_pages_without_steps_say_why(page: str) -> None:
    assert not steps((ROOT / f"docs/logs/{page}.md").read_text("utf-8"))


def test_steps_are_taken_in_their_order() -> None:
    page = """
```sh
broker-lite one \\
  --more   # a remark
```
And `a/read.py`:

```python
file
```

```python
program
```

```
printed
```

```
text
```

```
$ broker-lite two 'x y'
said
$ broker-lite three
```

<!-- not run: because -->

```python
left out
```
"""
    assert steps(page) == [
        Step("command", "broker-lite one --more"),
        Step("file", "file\n", "a/read.py"),
        Step("python", "program\n", printed="printed\n"),
        Step("command", "broker-lite two 'x y'", printed="said\n"),
        Step("command", "broker-lite three", printed=""),
    ]


def test_a_command_that_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="exit code 2"):
        do(Step("command", f"broker-lite log search {tmp_path}/nothing"), {})


def test_a_program_that_prints_something_else() -> None:
    with pytest.raises(AssertionError, match="printed\n2\nnot\n3"):
        do(Step("python", "print(1 + 1)\n", printed="3\n"), {})


def test_what_a_program_defines_is_there_for_the_next(tmp_path: Path) -> None:
    names: dict[str, object] = {}
    do(Step("python", "two = 2\n"), names)
    assert do(Step("python", "print(two)\n"), names) == "2\n"


def test_a_file_and_a_command_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    do(Step("file", "print('here')\n", "folder/said.py"), {})
    assert do(Step("command", "python folder/said.py", printed="here\n"), {}) == "here\n"
