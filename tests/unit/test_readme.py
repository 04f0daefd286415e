"""The README links to every study and every how-to, and all of its links are valid."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINKED = set(re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")))


def test_every_study_and_every_how_to_is_linked() -> None:
    wanted = [*(ROOT / "studies").glob("*/README.md"), *(ROOT / "docs" / "how-to").glob("*.md")]
    assert {str(file.relative_to(ROOT)) for file in wanted} <= LINKED


def test_every_link_leads_to_a_file() -> None:
    assert [name for name in LINKED if "://" not in name and not (ROOT / name).exists()] == []
