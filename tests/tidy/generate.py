"""Write what is made from the code: the tables of README and docs, the page of rules, the types.

python -m tests.tidy.generate
"""

import sys

import tests.support.as_written  # noqa: F401 - a compiled handler does not tell its module
from tests.tidy.message_stubs import STUB, message_stubs
from tests.tidy.pages import pages, parts_of, with_parts
from tests.tidy.project_files import ROOT
from tests.tidy.rooms_picture import PICTURE, rooms_picture
from tests.tidy.rules import RULES_PAGE, rules_page
from tests.tidy.setting_types import setting_types


def main() -> int:
    """Write all of them anew."""
    for page in pages():
        text = (ROOT / page).read_text("utf-8")
        if parts_of(text):
            (ROOT / page).write_text(with_parts(text), "utf-8")
    (ROOT / RULES_PAGE).write_text(rules_page(), "utf-8")
    (ROOT / PICTURE).write_text(rooms_picture(), "utf-8")
    STUB.write_text(message_stubs(), "utf-8")
    for path, text in setting_types().items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
