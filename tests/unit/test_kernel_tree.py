"""The configuration and the patches of kernels in virtual time, and trees that are refused."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nettrial.backends import find_kernel
from nettrial.cli import guests as commands
from nettrial.errors import BadInput, CannotRun
from nettrial.guests import Catalogue, UserMode, kernel_tree
from nettrial.guests.kernel import Unfit
from nettrial.systems import GUEST_SYSTEMS
from tests.lab.lacking import lacking

KCONFIG = """\
config GENERIC_CALIBRATE_DELAY
\tbool
\tdefault y

config HZ
\tint
\tdefault 100

config NR_CPUS
\tint
\trange 1 1
"""
SOURCES = {
    "arch/um/Kconfig": KCONFIG,
    "arch/um/os-Linux/process.c": "void os_set_pdeathsig(void)\n",
}


def a_tree(directory, numbers=(6, 12)):
    """Returns a directory that looks like Linux's source."""
    for name, text in SOURCES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    (directory / "Makefile").write_text(f"# a comment\nVERSION = {numbers[0]}\nPATCHLEVEL = {numbers[1]}\n")
    return directory


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(GUEST_SYSTEMS, str(tmp_path / "cache"))
    monkeypatch.delenv("NETTRIAL_KERNEL", raising=False)
    return tmp_path / "cache"


def test_each_option_is_set_once_and_in_one_way():
    lines = [line for line in kernel_tree.fragment().read_text().splitlines() if line]
    options = [line.partition("=") for line in lines if not line.startswith("#")]
    assert all(value in {"y", "n"} or value.isdecimal() for _, _, value in options)
    names = [name for name, _, _ in options]
    assert sorted(names) == sorted(set(names))
    assert {f"CONFIG_{name}" for name in kernel_tree.ESSENTIAL} <= set(names)


@pytest.mark.parametrize("patch", kernel_tree.patches(), ids=lambda patch: patch.name)
def test_each_patch_has_a_licence_a_reason_and_files_of_user_mode_linux_alone(patch):
    header, _, changes = patch.read_text().partition("\n---\n")
    first, subject, blank, *reason = header.splitlines()
    assert first == "SPDX-License-Identifier: GPL-2.0-only"
    assert subject.startswith("Subject: um: ")
    assert blank == ""
    assert len(" ".join(reason)) > 100
    names = re.findall(r"^\+\+\+ b/(\S+)", changes, re.MULTILINE)
    assert all(name.startswith(("arch/um/", "arch/x86/um/")) for name in names)


def test_a_tree_is_copied_as_links_without_what_was_built_and_does_not_change(tmp_path):
    tree = a_tree(tmp_path / "linux")
    built = [
        "vmlinux",
        ".config",
        "kernel/fork.o",
        "include/generated/autoconf.h",
        "Documentation/tcp/index.rst",
    ]
    built += ["arch/arm/mm/init.c", "drivers/gpu/drm/radeon/r100.c"]
    for name in [
        *built,
        "kernel/fork.c",
        "Documentation/Kconfig",
        "arch/um/kernel/vmlinux.lds.S",
        "drivers/gpu/drm/Kconfig",
    ]:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("old")
    (tmp_path / "scratch").mkdir()
    copy = kernel_tree.copy(tree, tmp_path / "scratch")
    assert (copy / "Documentation/Kconfig").exists()
    assert (copy / "arch/um/kernel/vmlinux.lds.S").exists()
    assert (copy / "drivers/gpu/drm/Kconfig").exists()
    assert not [name for name in built if (copy / name).exists()]
    assert (copy / "kernel/fork.c").resolve() == tree / "kernel/fork.c"
    kernel_tree._apply(kernel_tree.patches()[0], copy)
    assert "default 1000" in (copy / "arch/um/Kconfig").read_text()
    assert "default 1000" not in (tree / "arch/um/Kconfig").read_text()


def test_a_patch_is_left_out_where_the_tree_has_what_it_brings(tmp_path):
    [patch] = [patch for patch in kernel_tree.patches() if "has os_set_pdeathsig" in patch.read_text()]
    tree = a_tree(tmp_path)
    kernel_tree._apply(patch, tree)
    (tree / "arch/um/os-Linux/process.c").write_text("nothing of it\n")
    with pytest.raises(Unfit, match=f"does not take the patch {patch.name}"):
        kernel_tree._apply(patch, tree)


def test_what_is_no_tree_is_refused_with_the_reason(tmp_path, cache):
    with pytest.raises(Unfit, match="Makefile"):
        kernel_tree.version(tmp_path)
    assert kernel_tree.version(a_tree(tmp_path / "linux")) == (6, 12)
    with pytest.raises(Unfit, match=r"is Linux 5\.10; expected 6\.1 or later"):
        kernel_tree.version(a_tree(tmp_path / "old", (5, 10)))
    (tmp_path / "linux/arch/um/Kconfig").unlink()
    with pytest.raises(BadInput, match="no tree of Linux's source"):
        commands.add("mine", None, None, None, None, tree=tmp_path / "linux")
    with pytest.raises(BadInput, match="no --package"):
        commands.add("mine", "linux-source-6.12", None, None, None, tree=tmp_path)


def test_all_that_a_build_lacks_is_listed_at_once_with_the_command(tmp_path, cache, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(CannotRun) as refused:
        commands.add("mine", None, None, None, None, tree=a_tree(tmp_path / "linux"))
    text = str(refused.value)
    assert all(name in text for name in ("gcc", "make", "flex", "bison", "bc", "patch"))
    assert "apt-get install bc binutils bison flex gcc make patch tar xz-utils" in text
    assert "this machine's is aarch64" in text


def test_a_compilation_that_fails_tells_its_last_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_tree, "lacks", list)
    monkeypatch.setattr(kernel_tree, "patches", list)
    tree = a_tree(tmp_path)
    (tree / "Makefile").write_text(
        "VERSION = 6\nPATCHLEVEL = 12\nallnoconfig:\n\t@echo bad symbol >&2; exit 1\n"
    )
    with pytest.raises(CannotRun, match="bad symbol"):
        kernel_tree.build(tree)
    (tree / "Makefile").write_text(
        "VERSION = 6\nPATCHLEVEL = 12\nallnoconfig:\n\t@echo CONFIG_NET=y > .config\n"
    )
    with pytest.raises(Unfit, match="can't be configured with UML_TIME_TRAVEL_SUPPORT"):
        kernel_tree.build(tree)


def test_a_kernel_is_kept_and_the_newest_is_found(tmp_path, cache, monkeypatch, capsys):
    assert find_kernel() is None
    program = tmp_path / "linux"
    for release in ("6.1.192", "6.12.117", "6.9.1"):
        program.write_text(release)
        Catalogue().add_program(f"virtual-{release}", UserMode(program, release), "a tree")
    found = find_kernel()
    assert found is not None
    assert found.parent == cache
    assert found.read_text() == "6.12.117"
    assert os.access(found, os.X_OK)
    assert commands.check() == 0
    commands.show()
    assert "6.9.1 in virtual time" in capsys.readouterr().out
    monkeypatch.setenv("NETTRIAL_KERNEL", "/opt/linux")
    assert str(find_kernel()) == "/opt/linux"


def test_the_licence_of_the_patches_is_there():
    root = kernel_tree.fragment().resolve().parents[1]
    assert "Version 2, June 1991" in (root / "LICENSES" / "GPL-2.0.txt").read_text()


def test_common_headers_are_compiled_once_and_taken_where_they_suit(tmp_path):
    if shutil.which("gcc") is None:
        lacking("no gcc here")
    files = kernel_tree.own_files()
    compiler = files[kernel_tree._COMPILER]

    def compiled(source, text):
        file = tmp_path / source
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        names = ["-DKBUILD_MODNAME=" + f'"{file.stem}"', f"-D__KBUILD_MODNAME=kmod_{file.stem}"]
        flags = ["-I./include", "-include", "./include/linux/compiler_types.h", *names]
        command = ["sh", compiler, *flags, "-c", "-o", str(Path(source).with_suffix(".o")), source]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    (tmp_path / "include/linux").mkdir(parents=True)
    (tmp_path / "include/linux/compiler_types.h").touch()
    headers = Path(kernel_tree._HEADERS)
    (tmp_path / headers.parent).mkdir(parents=True)
    text = (
        "static inline int seven(void) { return 7; }\nstatic inline char *it(void) { return KBUILD_MODNAME; }"
    )
    (tmp_path / headers.with_suffix(".h")).write_text(text)
    assert compiled(str(headers.with_suffix(".c")), "").returncode == 0
    assert (tmp_path / headers.with_suffix(".h.gch")).stat().st_size > 100_000
    # A file gets them without including them, and its own name.
    done = compiled("net/some.c", "char name[] = KBUILD_MODNAME;\nint get(void) { return seven(); }\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert b"some" in (tmp_path / "net/some.o").read_bytes()
    # Files that they do not suit, and those of the machine, are compiled without them.
    assert compiled("net/other.c", "int seven(int number) { return number; }\n").returncode == 0
    assert "seven" in compiled("arch/um/some.c", "int get(void) { return seven(); }\n").stderr
    assert "expected" in compiled("net/wrong.c", "int get(void) { return 7 }\n").stderr


def test_the_coupled_congestion_controls_go_into_a_tree_with_all_that_they_include():
    files = kernel_tree.own_files()
    names = {name.removeprefix("net/ipv4/nettrial/") for name in files}
    for name in ("lia", "olia", "balia", "wvegas"):
        assert {f"{name}.c", f"programs/{name}/{name}.bpf.c", f"programs/{name}/arithmetic.h"} <= names
    assert {"Makefile", "control.h", "programs/common.h", "programs/built_in.h"} <= names
    # Each file is the one from which the BPF program is compiled, too.
    source = kernel_tree.fragment().resolve().parents[1] / "engine/bpf/programs/lia/arithmetic.h"
    assert files["net/ipv4/nettrial/programs/lia/arithmetic.h"].read_bytes() == source.read_bytes()
