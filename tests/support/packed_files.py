"""Binary files of tests, kept in one JSON file: names to base64."""

import base64
import json
from pathlib import Path


def unpack(packed: Path, directory: Path) -> None:
    """Write the files of a JSON file into a directory."""
    for name, text in json.loads(packed.read_text()).items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(text))
