"""The tables of the run file, which are append-only: triggers refuse changes."""

from __future__ import annotations

APPLICATION_ID = 0x6E74726C
"""The application ID in SQLite's header: "ntrl"."""
FORMAT = 4
"""The version of the tables, in SQLite's user_version. Readers refuse higher versions."""
FORMAT_OF_PACKED_DOCUMENTS = 2
"""The first version with compressed documents; earlier ones store scenarios and records as text."""
FORMAT_OF_FINGERPRINTS = 3
"""The first version that stores the fingerprint of each session."""
FORMAT_OF_DISTURBED_TRIALS = 4
"""The first version that stores attempts at trials that something else disturbed."""

DISTURBED = "disturbed"
"""The table of attempts at trials that something else disturbed, and that were repeated."""
TABLES = {
    "run": "study_text TEXT NOT NULL, published_text TEXT, study TEXT NOT NULL, seed INTEGER NOT NULL, "
    "command TEXT NOT NULL",
    "planned": "number INTEGER PRIMARY KEY, block INTEGER NOT NULL, treatment TEXT NOT NULL",
    "session": "session INTEGER PRIMARY KEY, started TEXT NOT NULL, environment TEXT NOT NULL, "
    "fingerprint TEXT",
    "session_end": "session INTEGER PRIMARY KEY REFERENCES session, ended TEXT NOT NULL, note TEXT NOT NULL",
    "trial": "number INTEGER PRIMARY KEY REFERENCES planned, session INTEGER NOT NULL REFERENCES session, "
    "scenario BLOB NOT NULL, record BLOB NOT NULL",
    DISTURBED: "attempt INTEGER PRIMARY KEY, number INTEGER NOT NULL REFERENCES planned, "
    "session INTEGER NOT NULL REFERENCES session, scenario BLOB NOT NULL, record BLOB NOT NULL, "
    "reason TEXT NOT NULL",
    "failure": "failure INTEGER PRIMARY KEY, number INTEGER NOT NULL REFERENCES planned, "
    "session INTEGER NOT NULL REFERENCES session, message TEXT NOT NULL",
}
"""The columns of each table. Documents (study, treatment, environment, fingerprint) are JSON; scenarios and
records are compressed JSON (RFC 1950), because a record may contain thousands of sizes or histograms. Times
are ISO 8601 in UTC."""


def tables_of(version: int) -> set[str]:
    """Returns the names of the tables of a run file of this version."""
    return set(TABLES) - (set() if version >= FORMAT_OF_DISTURBED_TRIALS else {DISTURBED})


def statements() -> list[str]:
    """Returns the statements that create an empty run file."""
    made = [f"PRAGMA application_id = {APPLICATION_ID}", f"PRAGMA user_version = {FORMAT}"]
    for table, columns in TABLES.items():
        made.append(f"CREATE TABLE {table} ({columns}) STRICT")
        for change in ("UPDATE", "DELETE"):
            made.append(
                f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'a run file is append-only'); END"
            )
    return made
