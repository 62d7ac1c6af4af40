"""The test that docs/use/go-test.md prints, from an empty folder against the image."""

from pathlib import Path

import pytest

from tests.readme.snippets import File, Program, Step, printed
from tests.support.docker import Container, free_port
from tests.support.toolchain import require
from tests.tidy.project_files import ROOT

PAGE = (ROOT / "docs/use/go-test.md").read_text("utf-8")
STEPS = printed(PAGE)["Go"]
PRINTED_CONTROL = "localhost:9099"
IDEMPOTENT = 'kgo.SeedBrokers("localhost:9092")'
NOT_IDEMPOTENT = f"{IDEMPOTENT}, kgo.DisableIdempotentWrite()"


def test_the_page_counts_its_lines() -> None:
    (text,) = (step.text for step in STEPS if isinstance(step, File))
    test = text.partition("func control")[0]
    lines = text.count("\n"), len(test.partition("func Test")[2].strip().splitlines())
    assert f"a file of {lines[0]} lines, and {lines[1]} of them are the test" in PAGE


@pytest.mark.client
@pytest.mark.parametrize("is_idempotent", [True, False], ids=["idempotent", "not-idempotent"])
def test_the_page_finds_out_whether_a_record_is_doubled(
    image: str, port: int, tmp_path: Path, is_idempotent: bool
) -> None:
    require("go")
    control = free_port()
    options = (
        *(f"--publish=127.0.0.1:{port}:{port}", f"--publish=127.0.0.1:{control}:9099"),
        f"--env=KAFKA_LISTENERS=PLAINTEXT://:{port}",
    )

    def meant(text: str) -> str:
        text = text.replace(PRINTED_CONTROL, f"localhost:{control}")
        return text if is_idempotent else text.replace(IDEMPOTENT, NOT_IDEMPOTENT)

    steps: list[Step] = [step._replace(text=meant(step.text)) for step in STEPS]
    with Container(options=options, host_port=port) as container:
        container.wait_for_answer()
        program = Program(steps, tmp_path, f"localhost:{port}")
        program.prepare()
        if is_idempotent:
            assert "--- PASS: TestALostAcknowledgementMakesNoDuplicate" in program.run()
        else:
            with pytest.raises(AssertionError, match="not one record"):
                program.run()
