"""Write what is made from the code: the tables of README and docs, the page of rules, the types.

It names the files that it changed.

python -m tests.tidy.generate
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import tests.support.as_written  # noqa: F401 - a compiled handler does not tell its module
from tests.tidy.message_stubs import STUB, message_stubs
from tests.tidy.pages import pages, parts_of, with_parts
from tests.tidy.project_files import ROOT, text_of
from tests.tidy.rooms_picture import PICTURE, rooms_picture
from tests.tidy.rules import RULES_PAGE, rules_page
from tests.tidy.setting_types import setting_types


def everything_made() -> Iterator[tuple[Path, str]]:
    """Every file that is made, or has a part that is, with the text that it should have."""
    for page in pages():
        text = text_of(page)
        if parts_of(text):
            yield page, with_parts(text)
    yield RULES_PAGE, rules_page()
    yield PICTURE, rooms_picture()
    yield STUB.relative_to(ROOT), message_stubs()
    for path, text in setting_types().items():
        yield path.relative_to(ROOT), text


def main() -> int:
    """Write what has changed of them."""
    for path, text in everything_made():
        if not (ROOT / path).exists() or text_of(path) != text:
            (ROOT / path).write_text(text, "utf-8")
            print(f"{path} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
