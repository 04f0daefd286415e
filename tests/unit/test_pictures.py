"""Pictures in the documentation show the runs whose figures the text beside them quotes."""

import re

from tools import pictures


def test_an_answer_and_its_picture_are_of_one_run() -> None:
    found = list(pictures.quoted())
    assert found
    for page, study, answer in found:
        for file in pictures.IMAGES.glob(f"{study}-*.png"):
            if file.stem.removeprefix(f"{study}-") in pictures.VIEWS:
                said = f"{page}: make pictures STUDIES={study}"
                assert pictures.stamp(file) == pictures.digest(answer), said


def test_every_picture_has_a_run_that_makes_it() -> None:
    names = {file.stem.rpartition("-")[0] for file in pictures.IMAGES.glob("*.png")}
    assert names == set(pictures.RUNS)


def test_every_page_with_a_picture_quotes_the_run_of_it() -> None:
    found = {(page, study) for page, study, _ in pictures.quoted()}
    shown = {
        (page, name)
        for pattern in pictures.PAGES
        for page in pictures.ROOT.glob(pattern)
        for name in re.findall(r"images/([\w-]+)-[a-z]+\.png", page.read_text(encoding="utf-8"))
    }
    assert shown
    assert shown <= found
