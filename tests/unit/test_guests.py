"""The cache of systems that guests run."""

import io
import json
import lzma
import os
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nettrial.cli import guests as commands
from nettrial.design import scenario_of, traffic_seconds
from nettrial.errors import BadInput, CannotRun
from nettrial.guests import Catalogue, Disk, GuestKernel, catalogue, unpack
from nettrial.guests.kernel import Unfit, depends
from nettrial.running.session import time_limit
from nettrial.study import load
from nettrial.systems import GUEST_SYSTEMS
from tests.killed import each_moment
from tests.unit.test_runner import wait_until


def module(depends):
    return b"\x7fELF..\0license=GPL\0depends=" + ",".join(depends).encode() + b"\0name=x\0"


DISKS = json.loads((Path(__file__).parents[1] / "vectors" / "disks.json").read_text())
"""The beginnings of qcow2 images, with the reasons for which they are refused."""
MODULES = {
    "drivers/net/virtio_net.ko": module(["net_failover"]),
    "drivers/net/net-failover.ko.xz": lzma.compress(module(["failover"])),
    "net/core/failover.ko": module([]),
    "drivers/char/virtio_console.ko": module([]),
    "net/ipv4/tcp_bbr.ko": module([]),
    "net/ipv4/tcp_odd.ko": module(["virtio_net"]),
    "fs/ext4/ext4.ko": module(["mbcache"]),
}


@pytest.fixture
def made(tmp_path):
    """Returns the image of a kernel and the directory of its modules."""
    image = bytearray(0x400)
    image[0x202:0x206] = b"HdrS"
    image[0x20E:0x210] = (0x100).to_bytes(2, "little")
    text = b"6.12.9+deb-amd64 (who@where) #1 SMP\0"
    image[0x300 : 0x300 + len(text)] = text
    (tmp_path / "boot").mkdir()
    kernel = tmp_path / "boot" / "vmlinuz-6.12.9"
    kernel.write_bytes(bytes(image))
    directory = tmp_path / "lib" / "modules" / "6.12.9"
    for name, data in MODULES.items():
        file = directory / "kernel" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    (directory / "modules.builtin").write_text("kernel/drivers/virtio/virtio_pci.ko\n")
    return kernel, directory


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(GUEST_SYSTEMS, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_modules_come_after_what_they_depend_on_and_others_stay_out(made):
    kernel = GuestKernel.read(*made)
    names = [name for name, _ in kernel.modules]
    assert (kernel.release, kernel.version) == ("6.12.9+deb-amd64", "6.12")
    assert sorted(names) == sorted(
        ["failover", "net_failover", "virtio_net", "virtio_console", "tcp_bbr", "tcp_odd"]
    )
    place = names.index
    assert place("failover") < place("net_failover") < place("virtio_net") < place("tcp_odd")
    assert dict(kernel.modules)["net_failover"] == module(["failover"]), "it is not compressed any more"


def test_a_module_with_names_of_any_bytes_is_read():
    assert depends(b"\0depends=a-b,\xff\0") == ["a_b", "\ufffd"]


def test_a_kernel_that_no_guest_can_run_is_refused_with_the_reason(made):
    image, modules = made
    (modules / "kernel/drivers/char/virtio_console.ko").unlink()
    with pytest.raises(Unfit, match="lacks virtio_console"):
        GuestKernel.read(image, modules)
    image.write_bytes(b"no kernel" * 100)
    with pytest.raises(Unfit, match="not a kernel image"):
        GuestKernel.read(image, modules)


def test_a_system_is_kept_checked_and_removed(made, cache, capsys):
    image, modules = made
    commands.add("linux", None, image, modules, None)
    commands.add("linux", None, image, modules, "again")
    commands.add("linux", None, image, modules, None)  # Adding the same system again changes nothing.
    assert "linux-6.12: Linux 6.12.9+deb-amd64 with 6 modules" in capsys.readouterr().err
    commands.show()
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "system",
        "again",
        "linux-6.12",
    ]
    assert len(list(cache.iterdir())) == 4, "equal files are kept once"
    entry = Catalogue().entries()[1]
    # The archive is parsed as Linux parses an initial RAM disk: names in the order of loading, then the end
    # marker.
    archive = (cache / entry.modules).read_bytes()
    assert archive.startswith(b"070701")
    assert b"TRAILER!!!" in archive
    assert archive.index(b"modules/000-") < archive.index(b"modules/005-")
    assert commands.check() == 0
    commands.remove("again")
    assert commands.check() == 0, "the other one keeps its files"
    (cache / entry.kernel).write_bytes(b"changed")
    (cache / entry.modules).unlink()
    capsys.readouterr()
    assert commands.check() == 3
    out = capsys.readouterr().out
    assert "kernel has changed" in out
    assert "modules can't be read" in out
    commands.remove("linux-6.12")
    assert list(cache.iterdir()) == []


def test_a_disk_is_copied_under_its_name_and_told_from_what_is_none(cache, tmp_path, capsys):
    image = tmp_path / "disk.qcow2"
    image.write_bytes(bytes.fromhex(DISKS[0]["image"]).ljust(DISKS[0]["bytes"], b"\0"))
    commands.add("freebsd", None, None, None, None, image)
    (tmp_path / "disk.img").write_bytes(bytes(510) + b"\x55\xaa" + bytes(512))
    commands.add("windows", None, None, None, "win-2022", tmp_path / "disk.img")
    image.unlink()
    assert commands.check() == 0
    entries = {entry.name: (entry.format, entry.kernel) for entry in Catalogue().entries()}
    assert entries == {"freebsd": ("qcow2", None), "win-2022": ("raw", None)}
    commands.show()
    assert "that of the disk" in capsys.readouterr().out
    (cache / "calibration").write_text('{"machine": "x", "goodput_bps": 7}')
    assert Catalogue().calibration() == 7
    commands.remove("freebsd")
    assert len(list(cache.iterdir())) == 3, "what belongs to another system, or to none, stays"
    for contents, why in (
        (b"QFI\xfb\0\0\0\3" + bytes([0, 0, 0, 0, 0, 0, 1, 0]) + bytes(90), "another image behind it"),
        (bytes(512), "is no image of a disk"),
        (b"", "is no image of a disk"),
    ):
        image.write_bytes(contents)
        with pytest.raises(BadInput, match=why):
            commands.add("freebsd", None, None, None, None, image)
    with pytest.raises(BadInput, match="no --package"):
        commands.add("freebsd", "x", None, None, None, image)
    with pytest.raises(BadInput, match="is no file"):
        commands.add("freebsd", None, None, None, None, tmp_path / "none")


@pytest.mark.parametrize("disk", DISKS, ids=lambda disk: disk["name"])
def test_an_image_that_leads_to_other_files_is_not_added(cache, tmp_path, disk):
    image = tmp_path / "disk.qcow2"
    image.write_bytes(bytes.fromhex(disk["image"]).ljust(disk["bytes"], b"\0"))
    if disk["refused"] is None:
        commands.add("other", None, None, None, None, image)
        assert [entry.format for entry in Catalogue().entries()] == ["qcow2"]
        return
    with pytest.raises(BadInput) as refused:
        commands.add("other", None, None, None, None, image)
    assert f"disk.qcow2 can't be used: {disk['refused']}; `qemu-img convert" in str(refused.value)
    assert not cache.exists()


def test_only_the_caches_own_files_are_removed(made, cache):
    image, modules = made
    commands.add("linux", None, image, modules, None)
    foreign = ("my-windows-vm.qcow2", "notes.txt", ".unfinished-thesis", "abc" * 21, "lost+found/x", "f" * 64)
    for name in foreign:
        (cache / name).parent.mkdir(exist_ok=True)
        (cache / name).write_bytes(b"mine")
    running = f"calibration.unfinished-{os.getpid()}"
    # The last is of an engine that runs, and the others are of processes that were killed.
    leftovers = (".unfinished-4711", f"calibration.unfinished-{2**30}", running)
    for name in leftovers:
        (cache / name).write_bytes(b"a part")
    commands.remove("linux-6.12")
    assert {str(file.relative_to(cache)) for file in cache.rglob("*") if file.is_file()} == {
        *foreign,
        running,
    }
    with pytest.raises(BadInput, match="none: there is no system yet"):
        commands.remove("linux-6.12")


@pytest.mark.parametrize("then", ["add", "remove", "a system of that name"])
def test_what_a_killed_addition_left_is_removed_by_the_next_change(made, cache, monkeypatch, then):
    image, modules = made
    commands.add("linux", None, image, modules, None)
    before = {file.name for file in cache.iterdir()}
    image.write_bytes(image.read_bytes() + b"another")
    rename = Path.replace
    for moment in range(3):  # at the kernel, the modules, and the document
        renamed = iter(range(3))

        def killed(source, target, renamed=renamed, moment=moment):
            if next(renamed) == moment:
                raise KeyboardInterrupt
            return rename(source, target)

        (modules / "kernel/net/ipv4/tcp_bbr.ko").write_bytes(module([f"x{moment}"]) if moment else module([]))
        with monkeypatch.context() as dying:
            dying.setattr(Path, "replace", killed)
            with pytest.raises(KeyboardInterrupt):
                Catalogue().add("other", GuestKernel.read(image, modules), "source")
        assert {file.name for file in cache.iterdir()} > before
        (modules / "kernel/net/ipv4/tcp_bbr.ko").write_bytes(module([]))
        if then == "add":
            again = GuestKernel.read(image, modules)
            Catalogue().add("again", again, "source")
            Catalogue().remove("again")
        elif then == "a system of that name":
            with pytest.raises(BadInput, match="there is one of that name"):
                Catalogue().add("linux-6.12", GuestKernel.read(image, modules), "source")
        else:
            Catalogue().add_disk("disk", Disk(image, "raw"))
            Catalogue().remove("disk")
        assert {file.name for file in cache.iterdir()} == before
    assert commands.check() == 0


def test_a_kill_at_any_moment_leaves_nothing_after_the_next_addition(cache, tmp_path):
    """Additions and removals are killed before each of their changes of the file system."""
    disk = tmp_path / "disk.raw"
    disk.write_bytes(bytes(510) + b"\x55\xaa")

    def add_and_remove():
        Catalogue().add_disk("disk", Disk(disk, "raw"))
        Catalogue().remove("disk")

    left = set()
    for _ in each_moment(add_and_remove):
        left |= {file.name.rstrip("0123456789") for file in cache.iterdir()} if cache.exists() else set()
        commands.add("disk", None, None, None, None, disk)
        assert len(list(cache.iterdir())) == 2
        assert commands.check() == 0
        commands.remove("disk")
        assert list(cache.iterdir()) == []
    assert {".unfinished-", ".unfinished-files", "disk.json"} < left


def test_a_killed_removal_is_completed_by_the_next_change(made, cache, monkeypatch):
    image, modules = made
    commands.add("linux", None, image, modules, None)
    commands.add("linux", None, image, modules, "again")
    delete = Path.unlink

    def killed(file, missing_ok=False):
        delete(file, missing_ok)
        if file.suffix == ".json":
            raise KeyboardInterrupt

    for name in ("again", "linux-6.12"):
        with monkeypatch.context() as dying:
            dying.setattr(Path, "unlink", killed)
            with pytest.raises(KeyboardInterrupt):
                Catalogue().remove(name)
        if name == "again":
            assert commands.check() == 0, "the other one keeps its files"
    Catalogue().add_disk("disk", Disk(image, "raw"))
    assert len(list(cache.iterdir())) == 2


def test_a_leftover_of_a_name_is_no_way_to_another_file(made, cache, tmp_path):
    image, modules = made
    (tmp_path / "mine").write_text("mine")
    cache.mkdir()
    (cache / f".unfinished-{os.getpid()}").symlink_to(tmp_path / "mine")
    commands.add("linux", None, image, modules, None)
    (cache / ".unfinished-files").symlink_to(tmp_path / "mine")
    with pytest.raises(BadInput, match="it is a symbolic link"):
        commands.remove("linux-6.12")
    (cache / ".unfinished-files").unlink()
    commands.remove("linux-6.12")
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_document_of_another_name_is_refused(made, cache):
    image, modules = made
    commands.add("linux", None, image, modules, None)
    (cache / "linux-6.12.json").rename(cache / "other.json")
    with pytest.raises(BadInput, match=r"other\.json: it is the document of linux-6\.12"):
        commands.remove("linux-6.12")


def test_a_removal_waits_for_an_addition(made, cache, tmp_path, monkeypatch):
    image, modules = made
    commands.add("linux", None, image, modules, None)
    os.mkfifo(pipe := tmp_path / "pipe")
    with ThreadPoolExecutor(2) as pool, pipe.open("r+b", buffering=0) as end:
        adding = pool.submit(Catalogue().add_disk, "slow", Disk(pipe, "raw"))
        end.write(b"an image ")
        wait_until(lambda: list(cache.glob(".unfinished-*")), "the beginning of the copy")
        with monkeypatch.context() as soon:
            soon.setattr(catalogue, "LOCK_SECONDS", 0.1)
            with pytest.raises(BadInput, match="is in use"):
                Catalogue().remove("linux-6.12")
        removing = pool.submit(Catalogue().remove, "linux-6.12")
        with pytest.raises(TimeoutError):
            removing.result(0.3)
        end.close()
        entry = adding.result(10)
        removing.result(10)
    assert Catalogue().entries() == [entry]
    assert Catalogue().check(entry) == []


def test_a_trial_with_guests_has_time_for_their_boot():
    study = load("kernel-versions")
    levels = {name: factor.levels[0] for name, factor in study.factors.items()}
    scenario = scenario_of(study, levels).model_copy(deep=True)
    with_guests = time_limit(scenario)
    for node in scenario.nodes:
        node.system = None
    assert with_guests - time_limit(scenario) >= 180, "the engine's limit"


def test_a_trial_may_take_three_times_its_traffic_and_five_minutes():
    study = load("jumbo-ipv6")
    scenario = scenario_of(study, {name: factor.levels[0] for name, factor in study.factors.items()})
    seconds = traffic_seconds(scenario)
    assert seconds >= 1
    assert time_limit(scenario) == 3 * seconds + 300


def test_what_can_not_be_added_is_said(made, cache, tmp_path):
    image, modules = made
    commands.add("linux", None, image, modules, "mine")
    image.write_bytes(image.read_bytes() + b"another")
    with pytest.raises(BadInput, match="there is one of that name"):
        commands.add("linux", None, image, modules, "mine")
    with pytest.raises(BadInput, match="up to 63 letters"):
        commands.add("linux", None, image, modules, "../mine")
    for options in ((None, None, None), ("a", image, modules), (None, image, None)):
        with pytest.raises(BadInput, match="either --package, or both"):
            commands.add("linux", *options, None)
    with pytest.raises(BadInput, match="linux, or --image"):
        commands.add("windows", "x", None, None, None)
    with pytest.raises(BadInput, match="one of the systems there are: mine"):
        commands.remove("other")
    (cache / "bad.json").write_text(json.dumps({"name": "bad"}))
    with pytest.raises(BadInput, match="no document of a system"):
        commands.show()


def test_a_package_is_unpacked_and_one_without_a_kernel_refused(made, tmp_path):
    def package(name, folders):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:xz") as tar:
            for folder in folders:
                tar.add(tmp_path / folder, arcname=f"./{folder}")
        file = tmp_path / name
        members = [
            ("debian-binary", b"2.0\n"),
            ("control.tar.xz", data.getvalue()),
            ("data.tar.xz", data.getvalue()),
        ]
        with file.open("wb") as target:
            target.write(b"!<arch>\n")
            for member, contents in members:
                target.write(f"{member:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(contents):<10}`\n".encode())
                target.write(contents + b"\n" * (len(contents) % 2))
        return file

    (tmp_path / "one").mkdir()
    image, modules = unpack(str(package("a.deb", ["boot", "lib"])), tmp_path / "one")
    assert GuestKernel.read(image, modules).version == "6.12"
    (tmp_path / "two").mkdir()
    with pytest.raises(CannotRun, match="0 kernel images"):
        unpack(str(package("b.deb", ["lib"])), tmp_path / "two")
