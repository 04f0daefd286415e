"""The README leads to the lists of guides and studies, which are complete, and its links are valid."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GUIDES = ROOT / "docs" / "guides.md"
STUDIES = ROOT / "docs" / "reference" / "studies.md"


def _links(page: Path) -> set[Path]:
    """Returns the files to which a page links."""
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets if "://" not in target}


def test_every_guide_is_in_the_list_of_guides() -> None:
    assert {*(ROOT / "docs" / "how-to").glob("*.md")} <= _links(GUIDES)


def test_every_study_is_in_the_list_of_studies() -> None:
    names = [study.parent.name for study in (ROOT / "studies").glob("*/README.md")]
    assert {ROOT / "docs" / "studies" / f"{name}.md" for name in names} <= _links(STUDIES)


def test_the_readme_leads_to_both_lists() -> None:
    assert {GUIDES, STUDIES} <= _links(README)


def test_every_link_leads_to_a_file() -> None:
    links = _links(README) | _links(GUIDES) | _links(STUDIES)
    assert [link for link in links if not link.exists()] == []
