"""Write what is made from the code: the README's tables and tests/RULES.md.

python -m tests.tidy.generate
"""

import sys

import tests.support.as_written  # noqa: F401 - a compiled handler does not tell its module
from tests.tidy.project_files import ROOT
from tests.tidy.readme import with_parts
from tests.tidy.rules import rules_page


def main() -> int:
    """Write both files anew."""
    readme = ROOT / "README.md"
    readme.write_text(with_parts(readme.read_text("utf-8")), "utf-8")
    (ROOT / "tests" / "RULES.md").write_text(rules_page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
