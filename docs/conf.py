"""How `make docs` builds the site: MyST reads the Markdown pages, furo is the theme."""

import re
from pathlib import Path

_PACKAGE = Path(__file__).parents[1] / "broker_lite" / "__init__.py"

project = "broker-lite"
author = "the authors of broker-lite"
_version = re.search(r'__version__.*= "(.+)"', _PACKAGE.read_text("utf-8"))
release = version = _version[1] if _version else ""

extensions = ["myst_parser"]
exclude_patterns = ["_static"]
# headings get the anchors that a reader of the plain files gets, too
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = f"broker-lite {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
