"""Each client's program of docs/clients.md reads what another's wrote, and the other way round."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from broker_lite.testing import Broker
from tests.readme.snippets import PRINTED_ADDRESS, PROGRAMS, Command, File, Program, printed
from tests.support.toolchain import require

NEEDS = {
    "Python": (),
    "Java": ("java", "javac", "mvn"),
    "Go": ("go",),
    "Node": ("node", "npm"),
    "Rust": ("cargo",),
    "kcat": ("kcat",),
}
NOT_RUN = {".NET"}
OTHERS = [name for name in NEEDS if name != "Python"]

Prepare = Callable[[str], Program]


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    """One broker for all, because the programs that are built have its port in them."""
    with Broker() as broker:
        yield broker


@pytest.fixture
def _empty(running: Broker) -> None:
    """Nothing is left of the tests before."""
    running.reset()


@pytest.fixture(scope="module")
def prepare(running: Broker, tmp_path_factory: pytest.TempPathFactory) -> Prepare:
    """Gives the program of a language, prepared when it is first asked for."""

    @cache
    def prepared(language: str) -> Program:
        require(*NEEDS[language])
        folder = tmp_path_factory.mktemp("program")
        program = Program(PROGRAMS[language], folder, f"localhost:{running.port}")
        program.prepare()
        return program

    return prepared


def greetings(output: str) -> list[str]:
    """The records that a program printed."""
    return [line for line in output.splitlines() if line.startswith("hello from ")]


@pytest.mark.client
@pytest.mark.usefixtures("_empty")
def test_python_reads_its_own(prepare: Prepare) -> None:
    assert greetings(prepare("Python").run()) == ["hello from Python"]


@pytest.mark.client
@pytest.mark.usefixtures("_empty")
@pytest.mark.parametrize("language", OTHERS)
def test_reads_what_python_wrote(language: str, prepare: Prepare) -> None:
    program = prepare(language)
    prepare("Python").run()
    assert greetings(program.run()) == ["hello from Python"]


@pytest.mark.client
@pytest.mark.usefixtures("_empty")
@pytest.mark.parametrize("language", OTHERS)
def test_python_reads_what_it_wrote(language: str, prepare: Prepare) -> None:
    program = prepare(language)
    assert greetings(program.run()) == [f"hello from {language}"]
    assert greetings(prepare("Python").run()) == [f"hello from {language}"]


def test_every_program_is_run_or_named() -> None:
    assert set(PROGRAMS) == NEEDS.keys() | NOT_RUN


@pytest.mark.parametrize("language", PROGRAMS)
def test_every_program_names_the_address(language: str) -> None:
    assert any(PRINTED_ADDRESS in step.text for step in PROGRAMS[language])


def test_steps_are_taken_in_their_order() -> None:
    text = """<!-- clients -->
## C: some client
```sh
init
```
`src/main.c`:

```c
int main;
```
Then:
```sh
run
```
<!-- end: clients -->"""
    steps = [Command("init\n"), File("src/main.c", "int main;\n"), Command("run\n")]
    assert printed(text) == {"C": steps}


@pytest.mark.parametrize(
    "text", ["no markers", "<!-- clients -->\n## C\n```c\nint main;\n```\n<!-- end: clients -->"]
)
def test_a_section_that_cannot_be_run(text: str) -> None:
    with pytest.raises(ValueError, match=r"no section|without the name"):
        printed(text)
