"""The check of changes makes those that it says, and each of them alone."""

import runpy
from pathlib import Path

MUTANTS = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "mutants.py"))
CODE = '''"""A module."""


def grown(size, most):
    if size < most and size != 3:
        return size + 2
    return True
'''


def test_each_change_is_made_alone():
    found = {(one.line, one.before, one.after) for one in MUTANTS["mutants_of"](Path("a.py"), CODE, None)}
    assert found == {
        (5, "size < most and size != 3", "size < most or size != 3"),
        (5, "size < most", "size <= most"),
        (5, "size != 3", "size == 3"),
        (5, "3", "4"),
        (6, "size + 2", "size - 2"),
        (6, "2", "3"),
        (7, "True", "False"),
    }


def test_the_rest_of_the_text_stays_and_lines_choose():
    (sum_, constant) = MUTANTS["mutants_of"](Path("a.py"), CODE, {6})
    assert sum_.text == CODE.replace("size + 2", "(size - 2)")
    assert constant.text == CODE.replace("size + 2", "size + (3)")


def test_the_nearest_tests_import_the_module_or_its_part():
    nearest = MUTANTS["nearest_tests"]
    assert nearest(Path("nettrial/analysis/host_cost.py")) == ["tests/unit/test_model.py"]
    assert "tests/unit/test_cli.py" in nearest(Path("nettrial/cli/help.py"))
