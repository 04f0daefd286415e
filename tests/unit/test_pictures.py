"""Pictures in the documentation show the runs whose figures the text beside them quotes."""

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
