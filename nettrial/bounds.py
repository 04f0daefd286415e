"""Bounds on what is read and planned. More is refused by counting it, before anything is built of it: input
may come from anyone, and a zero too many must not take the machine's memory."""

from __future__ import annotations

MOST_STUDY_BYTES = 128 * 2**10
"""The size of a study file."""
MOST_VALUES = 50_000
"""Values in a study file, those of aliases counted wherever they stand."""
MOST_DEPTH = 32
"""Lists and mappings within each other in a study file."""
MOST_FILE_BYTES = 2**20
"""The size of a file that a study file names: published figures, values of a distribution."""
MOST_TREATMENTS = 10_000
"""Combinations of the factors' levels."""
MOST_TRIALS = 100_000
"""Trials of a run: treatments times replicates."""
MOST_FLOWS = 20_000
"""Flows of a trial."""
MOST_SIZES = 1_000_000
"""Sizes of a sweep times its repeats."""
MOST_DOCUMENT_BYTES = 256 * 2**20
"""The size of a document in a run file, uncompressed: a record, a scenario, a study."""
