"""The run file's tables. They are only ever added to: triggers refuse changes."""

from __future__ import annotations

APPLICATION_ID = 0x6E74726C
"""The application's number in SQLite's header: "ntrl"."""
FORMAT = 2
"""The version of the tables, in SQLite's user_version. A reader refuses a higher one."""
FORMAT_OF_PACKED_DOCUMENTS = 2
"""Before it, scenarios and records were kept as text."""

TABLES = {
    "run": "study_text TEXT NOT NULL, published_text TEXT, study TEXT NOT NULL, seed INTEGER NOT NULL, "
    "command TEXT NOT NULL",
    "planned": "number INTEGER PRIMARY KEY, block INTEGER NOT NULL, treatment TEXT NOT NULL",
    "session": "session INTEGER PRIMARY KEY, started TEXT NOT NULL, environment TEXT NOT NULL",
    "session_end": "session INTEGER PRIMARY KEY REFERENCES session, ended TEXT NOT NULL, note TEXT NOT NULL",
    "trial": "number INTEGER PRIMARY KEY REFERENCES planned, session INTEGER NOT NULL REFERENCES session, "
    "scenario BLOB NOT NULL, record BLOB NOT NULL",
    "failure": "failure INTEGER PRIMARY KEY, number INTEGER NOT NULL REFERENCES planned, "
    "session INTEGER NOT NULL REFERENCES session, message TEXT NOT NULL",
}
"""Each table's columns. Documents (study, treatment, environment) are JSON, scenarios and records
compressed JSON (RFC 1950): thousands of sizes or histograms are in a record. Times are ISO 8601 in UTC."""


def statements() -> list[str]:
    """The statements that make an empty run file."""
    made = [f"PRAGMA application_id = {APPLICATION_ID}", f"PRAGMA user_version = {FORMAT}"]
    for table, columns in TABLES.items():
        made.append(f"CREATE TABLE {table} ({columns}) STRICT")
        for change in ("UPDATE", "DELETE"):
            made.append(
                f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'a run file is only added to'); END"
            )
    return made
