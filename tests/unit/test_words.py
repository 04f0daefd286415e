"""The check of wording (tools/check-words.py)."""

import importlib.util

import pytest

from tests.unit.conftest import ROOT

_spec = importlib.util.spec_from_file_location("check_words", ROOT / "tools" / "check-words.py")
assert _spec is not None
assert _spec.loader is not None
check_words = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_words)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".rs", "    /// How far it is.\n"),
        (".rs", "//! What a node does.\n"),
        (".rs", "/// Segments that were sent again.\n"),
        (".rs", '    bail!("it needs no rights");\n'),
        (".py", '"""What a metric is."""\n'),
        (".py", 'NAME = 1\n"""Of a PNG."""\n'),
        (".py", 'help="Runs without rights."\n'),
        (".md", "The way\nback is long; the way back is measured.\n"),
        (".rs", "/// A packet of 64 KB at the most.\n"),
        (".md", "The command fails, for there is no engine.\n"),
        (".md", "Means ± half of their 95% intervals.\n"),
        (".py", '"""The share of intervals that hold the truth."""\n'),
        (".rs", "    //!The queue of a flow.\n"),
        (".rs", "/// Serves clients for ever at a port.\n"),
        (".yaml", "question: What is it?\n# what came of the run\n"),
    ],
)
def test_what_nobody_should_read_is_found(suffix, text):
    (found,) = check_words.findings(text, suffix)
    assert 0 <= found[0] < len(text)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".rs", "/// Returns the path MTU in bytes.\n"),
        (".rs", "let link_ends = 2; // code is free\n"),
        (".py", '"""The path MTU, in bytes: what passes whole."""\n'),
        (".py", 'def _repr_mimebundle_() -> None:\n    """Whatever it is."""\n'),
        (".md", "What the path is like.\n"),
    ],
)
def test_other_words_are_not(suffix, text):
    assert list(check_words.findings(text, suffix)) == []
