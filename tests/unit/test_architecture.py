"""The rules for dependencies between the parts."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from nettrial.backends import BACKENDS
from tests.rust_modules import Crate
from tests.unit.as_windows import POSIX_CALLS, POSIX_MODULES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "nettrial"

BASE = {"errors", "registry", "fields", "units", "systems", "bounds", "files", "capabilities"} | {
    "defaults",
    "admission",
    "scenario",
    "path_report",
    "temporary",
    "texts",
}
"""Modules that every part may use. They may use only each other."""
ALLOWED = {
    "congestion": BASE,
    "stacks": BASE | {"congestion"},
    "metrics": BASE | {"topology"},
    "topology": BASE,
    "study": BASE | {"congestion", "stacks", "metrics", "topology"},
    "design": BASE | {"stacks", "topology", "study"},
    "machines": BASE | {"study"},
    "guests": BASE,
    "networks": BASE,
    "backends": BASE | {"guests"},
    "controllers": set(),
    "protocols": BASE,
    "store": BASE | {"study", "design"},
    "analysis": BASE | {"metrics", "study", "design", "store"},
    "export": BASE | {"metrics", "study", "design", "store", "analysis"},
    "report": BASE | {"metrics", "stacks", "topology", "study", "design", "store", "analysis"},
    "imports": BASE | {"backends"},
    "measuring": BASE
    | {"congestion", "metrics", "study", "design", "backends", "protocols", "store", "analysis", "report"}
    | {"imports", "running"},
    "monitor": BASE
    | {"measuring", "protocols", "metrics", "study", "machines", "backends", "analysis", "report"},
    "plots": BASE | {"report"},
    "results": BASE | {"metrics", "study", "store", "export", "report", "plots"},
    "comparison": BASE | {"metrics", "study", "design", "store", "analysis"},
    "api": BASE | {"study", "store", "running", "results", "comparison"},
    "measurements": BASE | {"api", "measuring", "results", "running"},
    "running": BASE | {"metrics", "study", "design", "machines", "backends", "store", "analysis", "report"},
    "cli": BASE
    | {"congestion", "topology", "stacks", "metrics", "study", "design", "machines", "guests", "backends"}
    | {"protocols", "store", "analysis", "export", "monitor", "imports", "report", "running"}
    | {"comparison", "measuring", "networks"},
}
"""The other parts that each part may use."""
PUBLIC = {"api", "comparison", "measurements", "plots", "results"}
"""The parts whose names `nettrial` itself has."""


@cache
def files():
    return sorted(PACKAGE.rglob("*.py"))


def part_of(file):
    """Returns the part of the package that a file belongs to: the module or directory below nettrial."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def tree(file):
    return ast.parse(file.read_text())


def imports(file):
    """Yields the dotted names that a file imports, at any place in the file."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def uses(file):
    """Returns the parts of the package that a file imports."""
    return {name.split(".")[1] for name in imports(file) if name.startswith("nettrial.")} - {"__version__"}


def test_every_part_is_known():
    parts = {part_of(file) for file in files()}
    assert parts == BASE | set(ALLOWED) | {"__init__"}


def test_parts_depend_leftward_only():
    for file in files():
        part = part_of(file)
        allowed = BASE if part in BASE else PUBLIC | {"errors"} if part == "__init__" else ALLOWED[part]
        assert uses(file) - {part} <= allowed, file


def test_only_commands_read_options_and_only_they_and_reports_draw_on_a_terminal():
    for file in files():
        used = {name.split(".")[0] for name in imports(file)}
        assert "typer" not in used or part_of(file) == "cli", file
        assert "rich" not in used or part_of(file) in {"cli", "report"}, file


def test_only_backends_reach_the_engine():
    for file in files():
        if part_of(file) == "backends":
            continue
        texts = {node.value for node in ast.walk(tree(file)) if isinstance(node, ast.Constant)}
        assert not [text for text in texts if isinstance(text, str) and "nettrial-engine" in text], file
        if part_of(file) == "systems":  # This module can start a program, but knows no particular one.
            continue
        assert "subprocess" not in {name.split(".")[0] for name in imports(file)}, file
        assert "os.exec" not in file.read_text(), file


def test_one_module_knows_what_systems_do_differently():
    for file in files():
        if part_of(file) == "systems":
            continue
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
                assert not names & (POSIX_MODULES | {"msvcrt"}), file
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
                assert node.attr not in POSIX_CALLS, file
        assert "sys.platform" not in file.read_text(), file


def hidden(package, name):
    """The modules of the package `name` that functions or classes of the same name hide where the package
    imports them."""
    modules = {file.stem for file in package.parent.iterdir()}
    return modules & {
        alias.asname or alias.name
        for node in ast.parse(package.read_text()).body
        if isinstance(node, ast.ImportFrom) and node.module != name
        for alias in node.names
    }


@pytest.mark.parametrize("package", sorted(PACKAGE.rglob("__init__.py")), ids=lambda file: file.parent.name)
def test_no_function_hides_the_module_of_its_name(package):
    """After `from nettrial.x.y import y` in package x, `nettrial.x.y` is the function."""
    assert not hidden(package, ".".join(("nettrial", *package.parent.relative_to(PACKAGE).parts)))


def test_the_walk_sees_hidden_modules(tmp_path):
    for module in ("y", "z"):
        (tmp_path / f"{module}.py").touch()
    package = tmp_path / "__init__.py"
    package.write_text("from nettrial.x.y import other, y\nfrom nettrial.x import z\n")
    assert hidden(package, "nettrial.x") == {"y"}


SHADOWS = {("api.py", "run"), ("cli/commands/machines.py", "command")}
"""Parameters that users name, in Python and as `--command`."""


def shadows(module):
    """Yields the names of parameters and local variables that hide a function, a class or an import of the
    module."""
    defined = {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in module.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.arg) and node.arg in defined:
                    yield node.arg
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in defined:
                    yield node.id


def test_no_local_name_hides_a_function_of_its_module():
    for file in files():
        known = {name for path, name in SHADOWS if file == PACKAGE / path}
        assert set(shadows(tree(file))) == known, file


def test_the_walk_sees_what_hides_a_function():
    text = "from a import b\nimport c.d\ndef e(c):\n    b = 1\n    return [e for e in c]\n"
    text += "def f(g):\n    g.e = 1\n"
    assert set(shadows(ast.parse(text))) == {"b", "c", "e"}


NO_NOUNS = ("asked", "crew", "deal", "found", "hands", "made", "told", "unheard", "untold")
"""Words that don't say what a value is: "a reply" does, and "asked" does not. A local variable may have them,
but no function, type or field, and no parameter in Python."""
NO_LOCALS = ("found",)
"""A local variable may not have these, either: hundreds once did."""
OTHER_NAMES = {("engine/scenario/src/problem.rs", "Place"), ("engine/scenario/src/record.rs", "found")}
"""The place in a document, which is the only `Place`, and a field of records, which users' files have."""


def no_nouns_in_python(module):
    """Yields the names of a module's functions, classes, parameters and attributes that are in `NO_NOUNS`."""
    for node in ast.walk(module):
        names = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names = [node.attr]
        if isinstance(node, ast.ClassDef):
            fields = (inner.target for inner in node.body if isinstance(inner, ast.AnnAssign))
            names += [field.id for field in fields if isinstance(field, ast.Name)]
        yield from (name for name in names if name.strip("_").lower() in NO_NOUNS)


def no_nouns_in_rust(text):
    """Yields the names of functions, types and fields of a file that are in `NO_NOUNS`, and vague types."""
    words = "|".join(NO_NOUNS)
    types = "|".join(word.capitalize() for word in (*NO_NOUNS, "end", "ends", "place"))
    yield from re.findall(rf"\bfn ({words})\b", text)
    yield from re.findall(rf"\b(?:struct|enum|trait|type) ({types})\b", text)
    structures = re.findall(r"^( *)(?:pub(?:\(\w+\))? )?struct [^;{(]*\{\n(.*?)^\1\}", text, re.M | re.S)
    for _, fields in structures:
        yield from re.findall(rf"^ *(?:pub(?:\(\w+\))? )?({words}): ", fields, re.M)


def test_names_are_nouns_of_the_field():
    generated = {PACKAGE / name for name in ("scenario.py", "path_report.py")}
    names = {
        (str(file.relative_to(ROOT)), name)
        for file in files()
        if file not in generated
        for name in no_nouns_in_python(tree(file))
    }
    for file in (ROOT / "engine").rglob("*.rs"):
        names |= {(str(file.relative_to(ROOT)), name) for name in no_nouns_in_rust(file.read_text())}
    assert names == OTHER_NAMES


def test_the_walk_sees_names_of_every_form():
    code = "class Made:\n hands: int\ndef _told(found):\n self.asked = deal = 1\n"
    assert set(no_nouns_in_python(ast.parse(code))) == {"Made", "hands", "_told", "found", "asked"}
    code = "pub struct Place {\n    pub crew: u8,\n    other: u8,\n}\n"
    code += "fn found() { Other { told: 1 } }\nenum Ends {}\n"
    assert list(no_nouns_in_rust(code)) == ["found", "Place", "Ends", "crew"]


def locals_in_python(module):
    """Yields the names of a module's local variables that are in `NO_LOCALS`."""
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NO_LOCALS:
                    yield node.id


def locals_in_rust(text):
    """Yields the names of local variables and parameters of a file, without its tests, that are in
    `NO_LOCALS`. A field of a structure has a dot before its name, or a colon after it."""
    words = "|".join(NO_LOCALS)
    code = re.sub(r"""//[^\n]*|'\\?"'|r#".*?"#|"(?:[^"\\]|\\.)*\"""", "", text, flags=re.S)
    code = code.split("#[cfg(test)]\nmod tests {")[0]
    yield from re.findall(rf"\b(?:let |mut |fn [^;{{]*\b)({words}): ", code)
    yield from re.findall(rf"[|(]({words}): ", code)
    yield from re.findall(rf"(?<![.\w])({words})\b(?!: )", code)


def test_local_variables_say_what_they_are():
    for folder in ("nettrial", "tools", "benches", "stacks"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not set(locals_in_python(tree(file))), file
    for folder in ("engine", "stacks"):
        for file in (ROOT / folder).glob("*/src/**/*.rs"):
            if file.name != "tests.rs" and "tests" not in file.parts:
                assert not set(locals_in_rust(file.read_text())), file


def test_the_walk_sees_local_variables_of_every_form():
    code = "def f(found=1):\n found = [found for found in g(found)]\n if found := 1: pass\n"
    assert list(locals_in_python(ast.parse(code))) == ["found"] * 3
    assert list(locals_in_python(ast.parse("class A:\n found: int\na.found = 1\n"))) == []
    for code in (
        "let found = 1;",
        "let mut found: Vec<u8> = a();",
        "if let Some(found) = a {",
        "let (found, b) = c;",
        "a.map(|found| b)",
        "a.map(|found: u8| b)",
        "fn a(b: u8, found: u8) {",
        "fn a(\n    found: u8,\n) {",
    ):
        assert set(locals_in_rust(code)) == {"found"}, code
    code = (
        'Check { found: a.found, b } // found\n"found"; \'"\'; pub found: u8,\n#[cfg(test)]\nmod tests {found'
    )
    assert list(locals_in_rust(code)) == []


def compared(file):
    """Yields the strings that a file compares something with, searches for, or uses as a key."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        else:
            continue
        for part in parts:
            yield from (
                inner.value
                for inner in ast.walk(part)
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
            )


def test_nobody_asks_which_backend_it_is():
    """The package must decide by a backend's capabilities, never by its name."""
    for file in files():
        if part_of(file) != "backends":
            assert not set(compared(file)) & set(BACKENDS), file


def test_the_walk_sees_comparisons_of_every_form(tmp_path):
    file = tmp_path / "x.py"
    file.write_text(
        "a == 'b'\nc in ('d', 'e')\nf['g']\nmatch h:\n case 'i': pass\n'j' not in k\nl('m')\nn = 'o'\n"
    )
    assert sorted(compared(file)) == ["b", "d", "e", "g", "i", "j"]


def test_the_walk_sees_imports_of_every_form(tmp_path):
    file = tmp_path / "x.py"
    file.write_text(
        "import nettrial.cli.app\ndef f():\n from nettrial import store\n from nettrial.study import load\n"
    )
    assert uses(file) == {"cli", "store", "study"}


@cache
def crates():
    return {
        manifest["package"]["name"]: manifest
        for folder in ("engine", "stacks")
        for manifest in (tomllib.loads(path.read_text()) for path in (ROOT / folder).glob("*/Cargo.toml"))
    }


def workspace_dependencies(manifest, tests=True):
    tables = [manifest, *manifest.get("target", {}).values()]
    kinds = ("dependencies", "build-dependencies", *(["dev-dependencies"] if tests else []))
    return {name for table in tables for kind in kinds for name in table.get(kind, {}) if name in crates()}


def test_the_table_of_crates_says_what_each_uses():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(engine/|stacks/)(\w+)` \|.*\| ([^|]*) \|$", text, re.M)
    rows = {("stack-" if folder == "stacks/" else "") + name: said for folder, name, said in rows}
    assert {f"nettrial-{name}" for name in rows} == set(crates()) - {"nettrial-engine"} | {"nettrial-cli"}
    for name, said in rows.items():
        if name == "cli" or "other systems" in said:
            continue  # The table describes these in words.
        used = workspace_dependencies(crates()[f"nettrial-{name}"], tests=False)
        used = {crate.removeprefix("nettrial-") for crate in used}
        assert used == (set() if said.startswith("nothing") else set(said.split(", "))), name


def test_the_table_of_the_package_says_what_each_part_may_use():
    """Every part may also use the first row, except those that use nothing."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = text.partition("| package (Python) |")[2].partition("\n\n")[0].splitlines()[2:]
    said = {}
    for names, _, uses in (row.strip("| ").split(" | ") for row in rows):
        words = {"the first row": BASE, "each other": BASE, "nothing": set()}
        allowed = words[uses] if uses in words else BASE | set(uses.split(", "))
        said |= dict.fromkeys(re.findall(r"`(\w+)`", names), allowed)
    assert said == dict.fromkeys(BASE, BASE) | ALLOWED


def dependencies(manifest):
    """Returns the names of all crates that a crate is built with directly, on any system."""
    tables = [manifest, *manifest.get("target", {}).values()]
    return {name for table in tables for name in table.get("dependencies", {})}


def test_only_the_commands_have_errors_without_kinds():
    """Each crate that others use has an enum of its errors; only words are in those of anyhow."""
    assert {name for name, manifest in crates().items() if "anyhow" in dependencies(manifest)} == {
        "nettrial-engine"
    }


@pytest.mark.parametrize(
    "name", sorted(name for name in crates() if "thiserror" in dependencies(crates()[name]))
)
def test_the_errors_of_a_crate_are_in_one_file(name):
    sources = ROOT / "engine" / name.removeprefix("nettrial-") / "src"
    of_errors = re.compile(r"derive\([^)]*thiserror::Error")
    assert [file.name for file in sources.rglob("*.rs") if of_errors.search(file.read_text())] == ["error.rs"]


def test_the_scenario_depends_on_no_crate_of_the_workspace():
    assert workspace_dependencies(crates()["nettrial-scenario"]) == set()


def test_backends_of_the_engine_know_nothing_of_each_other():
    apart = {"nettrial-lab", "nettrial-sim", "nettrial-hosts", "nettrial-path", "nettrial-iperf3"}
    apart |= {"nettrial-remote", "nettrial-fluid"}
    assert apart & set(crates())
    for name in apart & set(crates()):
        assert not workspace_dependencies(crates()[name]) & apart


def test_admission_knows_nothing_of_what_it_admits_to():
    assert workspace_dependencies(crates()["nettrial-admission"]) == set()


def test_a_session_knows_nothing_of_the_networks_that_it_is_used_in():
    used = {"nettrial-scenario", "nettrial-traffic", "nettrial-admission"}
    assert workspace_dependencies(crates()["nettrial-session"]) == used
    assert "nettrial-session" in workspace_dependencies(crates()["nettrial-lab"])
    assert "nettrial-session" in workspace_dependencies(crates()["nettrial-remote"])
    assert "nettrial-session" in workspace_dependencies(crates()["nettrial-hosts"])


def test_iperf3s_protocol_needs_no_agent():
    assert workspace_dependencies(crates()["nettrial-iperf3"]) == {"nettrial-scenario", "nettrial-admission"}


def test_the_kernels_interfaces_are_asked_for_whoever_asks():
    assert workspace_dependencies(crates()["nettrial-netlink"]) == {"nettrial-scenario"}


def test_programs_for_the_kernel_need_no_network_of_the_labs():
    assert workspace_dependencies(crates()["nettrial-bpf"]) == {"nettrial-scenario"}


def test_congestion_controls_know_nothing_of_who_uses_them():
    assert workspace_dependencies(crates()["nettrial-congestion"]) == set()


def test_figures_know_nothing_of_who_carries_a_flow():
    assert workspace_dependencies(crates()["nettrial-flows"]) == {"nettrial-scenario"}


def test_queues_and_fates_of_frames_know_nothing_of_who_uses_them():
    assert workspace_dependencies(crates()["nettrial-links"]) == {"nettrial-scenario"}


def test_a_radio_channel_has_no_clock_and_carries_nothing_of_a_backend():
    assert workspace_dependencies(crates()["nettrial-wlan"]) == {
        "nettrial-scenario",
        "nettrial-links",
    }


def test_the_simulator_needs_nothing_of_a_real_host():
    parts = {"scenario", "routing", "congestion", "flows", "capture", "links", "wlan"}
    assert workspace_dependencies(crates()["nettrial-sim"]) == {f"nettrial-{part}" for part in parts}


def test_rates_are_computed_without_packets_and_hosts():
    parts = {"scenario", "routing", "flows"}
    assert workspace_dependencies(crates()["nettrial-fluid"]) == {f"nettrial-{part}" for part in parts}


def test_the_agent_reaches_the_operating_system_through_its_platform_alone():
    sources = ROOT / "engine" / "traffic" / "src"
    of_a_system = ("nix::", "libc::", "windows_sys::", "std::os::", '"/proc', "unsafe ")
    for file in sources.rglob("*.rs"):
        if (sources / "platform") in file.parents or file.name == "tests.rs":
            continue
        assert not [word for word in of_a_system if word in file.read_text()], file
    assert "libc::" in (sources / "platform" / "linux" / "sockets.rs").read_text(), (
        "the walk would not see it"
    )


NEEDS_LINUX = {
    "nettrial-netlink",
    "nettrial-lab",
    "nettrial-bpf",
} | {
    *(
        "nettrial-iperf3",
        "nix",
        "libbpf-rs",
        "libbpf-sys",
    ),
    *("netlink-sys", "netlink-packet-core", "netlink-packet-route"),
}


@cache
def lock():
    document = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {package["name"]: package for package in document["package"]}


def everywhere(name):
    """Returns the crates that a crate of the workspace is built with on every system, including itself."""
    locked = lock()
    found, waiting = set(), [name]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        # Cargo.lock does not show which dependencies are for tests or for a single system.
        if name in crates():
            waiting += crates()[name].get("dependencies", {})
        else:
            waiting += [line.split()[0] for line in locked[name].get("dependencies", ())]
    return found


def test_on_every_system_the_engine_has_the_simulator_the_agent_machines_and_nothing_that_needs_linux():
    found = everywhere("nettrial-engine")
    assert found >= {"nettrial-sim", "nettrial-traffic", "nettrial-hosts", "clap", "serde_core"}
    assert not found & NEEDS_LINUX
    assert everywhere("nettrial-lab") >= {"nix", "libbpf-sys", "netlink-sys"}, "the walk would not see them"


SIMULATOR = ROOT / "engine" / "sim" / "src"
SIMULATOR_PARTS = [
    "error",
    "time",
    "ticks",
    "ahead",
    "packets",
    "network",
    "transport",
    "capture",
    "engine",
    "applications",
    "parallel",
    "trial",
]
"""The parts of the simulator. Each uses only those before it."""


def simulator_files():
    files = (file.relative_to(SIMULATOR) for file in SIMULATOR.rglob("*.rs"))
    return sorted(
        file for file in files if file.name not in {"lib.rs", "tests.rs"} and "tests" not in file.parts
    )


def paths_in_crate(code):
    """Returns the first names after `crate::` in Rust code without its comments and tests."""
    code = re.sub(r"//.*", "", code).split("#[cfg(test)]\nmod tests {")[0]
    names = (braced or single for braced, single in re.findall(r"\bcrate::(?:\{([^}]*)\}|(\w+))", code))
    return {one.strip().split("::")[0] for name in names for one in name.split(",") if one.strip()}


def reexports(code):
    """Returns the part of each name that the simulator's root exports again."""
    found = re.findall(r"pub use (\w+)(?:::\w+)*::(?:\{([^}]*)\}|(\w+));", code)
    return {name.strip(): part for part, braced, single in found for name in (braced or single).split(",")}


def test_every_part_of_the_simulator_is_known():
    assert {file.parts[0].removesuffix(".rs") for file in simulator_files()} == set(SIMULATOR_PARTS)


def test_parts_of_the_simulator_depend_leftward_only():
    exported = reexports((SIMULATOR / "lib.rs").read_text())
    for file in simulator_files():
        own = file.parts[0].removesuffix(".rs")
        used = {exported.get(name, name) for name in paths_in_crate((SIMULATOR / file).read_text())}
        assert used <= set(SIMULATOR_PARTS[: SIMULATOR_PARTS.index(own) + 1]), file


@pytest.mark.parametrize("crate", sorted(file.parent.name for file in ROOT.glob("engine/*/src")))
def test_no_files_of_a_crate_use_each_other_in_a_circle(crate):
    assert Crate(ROOT / "engine" / crate / "src").circles() == []


def test_the_walk_sees_circles_of_every_form(tmp_path):
    for name, code in {
        "lib.rs": "mod a;\nmod b;\nmod c;\nmod d;\npub use b::B;\n",
        "a.rs": "use crate::{B, c};\nmod inner;\nuse inner::Inner;\nstruct A(B, Inner);\nfn f() { c::g() }",
        "b.rs": "// use crate::a::A;\npub use crate::d::D;\nstruct B;\nfn f() { super::a::f(); }",
        "c.rs": "struct C;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
        "d.rs": "use crate::{c::{C as E, self}, b};\nfn f() { c::g::<E>(b::h()) }",
        "a/inner.rs": "use super::A;\nstruct Inner(A);",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    crate = Crate(tmp_path)
    assert crate.uses(crate.modules["a",]) == {("a", "inner"), ("b",), ("c",)}
    assert crate.uses(crate.modules["b",]) == {("a",)}, "exporting D again is no use of it"
    assert crate.uses(crate.modules["d",]) == {("b",), ("c",)}
    assert crate.uses(crate.modules["a", "inner"]) == set(), "a file and its folder are one"
    assert crate.circles() == [["a", "b"]]


def test_the_walk_sees_paths_of_every_form():
    code = (
        "use crate::{a::B, C};\n// crate::d\nuse crate::e;\nlet f = crate::f::g();\n"
        "#[cfg(test)]\nmod tests {use crate::h;}"
    )
    assert paths_in_crate(code) == {"a", "C", "e", "f"}
