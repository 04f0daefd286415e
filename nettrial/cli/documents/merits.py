"""The merit of a change, as documents have it."""

from __future__ import annotations

from nettrial.analysis import Merit
from nettrial.cli.documents.base import Verdict

VERDICTS: dict[Merit, Verdict] = {
    Merit.BETTER: "better",
    Merit.WORSE: "worse",
    Merit.SMALL: "small",
    Merit.MIXED: "mixed",
    Merit.NONE: "none",
}
"""The word in documents for each merit."""
