"""The blocks of docs/testing.md that have a name, and the environment of programs that use them."""

import os
import re
from pathlib import Path

PROGRAM = os.environ["CASELOAD_CHECK_PROGRAM"]
# The settings of a developer's own server are not for these.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("CASELOAD_")}


def blocks():
    """The named blocks, by name."""
    page = Path("docs/testing.md").read_text()
    found = re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.M | re.S)
    if len(dict(found)) != len(found):
        raise SystemExit("FAILED: docs/testing.md has two blocks of one name")
    return dict(found)
