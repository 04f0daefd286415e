"""Limits for input and plans. Larger input is refused by counting, before anything is built from it: input
may come from anyone, and one zero too many must not exhaust the machine's memory."""

from __future__ import annotations

MOST_STUDY_BYTES = 128 * 2**10
"""The largest size of a study file."""
MOST_VALUES = 50_000
"""The largest number of values in a study file, counting those of aliases at every use."""
MOST_DEPTH = 32
"""The largest depth of nested lists and mappings in a study file."""
MOST_FILE_BYTES = 2**20
"""The largest size of a file named by a study file: published figures, values of a distribution."""
MOST_TREATMENTS = 10_000
"""The largest number of combinations of the factors' levels."""
LARGEST_SEED = 2**63 - 1
"""The largest seed: seeds are stored as 64-bit integers with a sign."""
MOST_TRIALS = 100_000
"""The largest number of trials of a run: treatments times replicates."""
MOST_FLOWS = 120_000
"""The largest number of flows of a trial with any backend. Most backends have a lower limit, which their
capabilities state."""
MOST_SIZES = 1_000_000
"""The largest product of a sweep's sizes and repeats."""
MOST_DOCUMENT_BYTES = 256 * 2**20
"""The largest uncompressed size of a document in a run file: a record, a scenario, a study."""

MOST_RERUNS = 10
"""The largest number of times that a disturbed trial is run again."""
