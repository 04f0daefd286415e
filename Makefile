# `make demo` and `make test` do everything on a fresh Debian or Ubuntu, as root or with sudo.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
export PATH := $(CURDIR)/.venv/bin:$(PATH):$(HOME)/.cargo/bin

python := .venv/bin/python
stamp := .venv/.installed-
stage := tools/stage.sh
profile := release
# All targets but documentation tests: there are none, and looking for them would compile every crate once more.
cargo_test := cargo test --locked --quiet --all-targets
# Tests that build networks mostly wait, so several run at once on each CPU.
together := $(shell echo $$((3 * $$(nproc))))
# Unit tests compute more than they wait. Each worker takes ten seconds of CPU time to begin.
computing := $(shell echo $$(($$(nproc) + 1)))
ifeq ($(shell id -u),0)
  as_root :=
else
  as_root := sudo --preserve-env=PATH,CI,NETTRIAL_ENGINE,PYTEST_DEBUG_TEMPROOT
endif

# Hundreds of processes load the same modules, which are compiled only once.
unexport PYTHONDONTWRITEBYTECODE

# Tests use an engine that shares its compilation with the engine's own tests, with debug assertions.
unit networks virtual measurements generated generate kills test-all: export NETTRIAL_ENGINE := $(CURDIR)/target/debug/nettrial-engine

# SQLite waits for the disk after every trial, which was half of the unit tests' time. Their files are therefore in memory,
# if it has room and programs may run from there.
memory := $(shell findmnt -no OPTIONS /dev/shm 2>/dev/null | grep -qv noexec && \
  [ "$$(df --output=avail /dev/shm | tail -n 1)" -gt 2000000 ] && echo /dev/shm)
unit networks virtual measurements test-all: export PYTEST_DEBUG_TEMPROOT := $(memory)

# The kernel in virtual time that the package nettrial-kernel brings. Only some tests use it; the others test what nettrial
# does without one. Pictures and benches say which backend they use, and otherwise mean the lab.
kernel = $(shell ls $(CURDIR)/.venv/lib/python3*/site-packages/nettrial_kernel/linux 2>/dev/null)
virtual: export NETTRIAL_KERNEL = $(kernel)
pictures bench: export NETTRIAL_KERNEL :=

# Clippy is the compiler of the engine's tests here, as under `cargo clippy`, so that its lints need no separate pass over each
# crate and its tests, which would take a minute and a half of CPU time. Incremental compilation is off, because nothing is
# compiled twice.
test-build test-engine lint-engine engine-test engine-test-all $(stamp)tests: export RUSTC_WORKSPACE_WRAPPER := $(CURDIR)/tools/compile.sh
test-build test-engine lint-engine engine-test engine-test-all $(stamp)tests: export CLIPPY_ARGS := --deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
test-build test-engine lint-engine engine-test engine-test-all $(stamp)tests: export CARGO_INCREMENTAL := 0

# In CI, tests on random input have the same input each time, as those of the package have by Hypothesis's settings there. What
# other input would show must not refuse a change that has nothing to do with it.
ifdef CI
engine-test engine-test-all: export PROPTEST_RNG_SEED ?= 1
endif

.PHONY: book book-check demo test test-all setup build engine test-build test-engine stacks stacks-test generate lint lint-engine lint-python other-systems words generated types \
  unit networks virtual measurements engine-test engine-test-all engine-checks audit fuzz kills windows wheel kernel mutants pictures docs bench clean

# In virtual time, other work on the machine does not disturb the study, which therefore needs only short traffic, and no
# privileges. Without a kernel,
# as on a distribution without its source, the study runs in the lab.
short := $(foreach flow,transfer probe,--set "workload.$(flow).traffic.duration=0.5 s")
demo: $(stamp)system ## run the first study, in virtual time if a kernel can be built, and leave report.html
	@$(MAKE) --no-print-directory --jobs 2 engine $(stamp)kernel
	@$(MAKE) --no-print-directory build
	@run=runs/demo-$$(date -u +%Y%m%d-%H%M%S); lab=; \
	compgen -G ".venv/lib/python3*/site-packages/nettrial_kernel/linux" >/dev/null || lab="$(as_root)"; \
	$$lab .venv/bin/nettrial run jumbo-ipv6 --replicates 3 $(short) --out "$$run"; \
	cp "$$run/report.html" report.html; \
	echo "report: $$PWD/report.html" >&2

# Everything is installed while the engine is compiled. Then comes a job of networks, which mostly waits, one that
# compiles, one of unit tests, and one of lints and the like.
test: $(stamp)system ## everything but the tests marked slow; those that measure run last, alone, one at a time
	@$(MAKE) --no-print-directory --jobs 3 test-engine $(stamp)tests $(stamp)modules
	@$(MAKE) --no-print-directory test-build
	@$(MAKE) --no-print-directory --jobs 4 --output-sync=target networks engine-checks unit lint-python stacks-test
	@$(MAKE) --no-print-directory measurements

test-all: test other-systems virtual windows wheel build engine-test-all mutants audit fuzz kills book-check ## the long sweeps, too: kills by the hundred, agreement with intervals, Monte Carlo of the statistics
	@$(as_root) $(python) -m pytest -q -m slow tests

setup: $(stamp)packages ## what the system and the virtual environment need

# Packages are installed during the compilation of the engine.
build: $(stamp)system ## the engine and the nettrial command, in .venv/bin
	@$(MAKE) --no-print-directory --jobs 2 engine $(stamp)packages
	@$(MAKE) --no-print-directory $(stamp)package
	@install -C -m 755 target/release/nettrial-engine .venv/bin/nettrial-engine

engine: $(stamp)system
	@$(stage) "cargo build" cargo build --release --locked --quiet --package nettrial-engine

# The requirements of tests: the engine in target/debug, and the nettrial command.
test-build: $(stamp)system
	@$(MAKE) --no-print-directory --jobs 2 test-engine $(stamp)packages
	@$(MAKE) --no-print-directory $(stamp)package profile=dev

test-engine: $(stamp)system
	@$(stage) "cargo build for tests" cargo build --locked --quiet --package nettrial-engine

$(stamp)system: tools/setup.sh
	@$(stage) setup tools/setup.sh
	@touch $@

# Nine workers of pytest begin at about the same time, import the same modules, and rewrite the assertions of the same tests,
# which each of them would compile first. This collects the tests once, while the engine is compiled. What is wrong with a
# test, the tests themselves say later.
$(stamp)modules: $(stamp)packages
	@$(stage) "compilation of Python modules" $(python) -c "import distributed, nettrial.cli.run, nettrial.report.html"
	@$(stage) "compilation of tests" $(python) -m pytest --quiet --collect-only tests >/dev/null || true
	@touch $@

# nettrial itself extracts the kernels of guests from their packages.
$(stamp)tests: tools/setup-tests.sh tools/build-stacks.sh $(stamp)packages $(shell find stacks -type f)
	@$(stage) "setup of what tests need" tools/setup-tests.sh
	@touch $@

# A distribution without that source has no kernel (exit status 3), and no tests that need one.
$(stamp)kernel: $(stamp)packages tools/build-kernel.py $(shell find kernel engine/bpf/programs -type f)
	@rm -f dist/nettrial_kernel-*.whl
	@status=0; $(stage) "kernel in virtual time" env PYTHONPATH=$(CURDIR) $(python) tools/build-kernel.py || status=$$?; \
	  test $$status = 0 -o $$status = 3
	@for wheel in $(CURDIR)/dist/nettrial_kernel-*.whl; do [ ! -f "$$wheel" ] || \
	  .venv/bin/uv pip install --quiet --python $(python) --no-deps --reinstall "$$wheel"; done
	@touch $@

$(stamp)packages: $(stamp)system requirements-uv.lock requirements.lock
	@$(stage) "install of uv" $(python) -m pip install --quiet --require-hashes --requirement requirements-uv.lock
	@$(stage) "install of packages" .venv/bin/uv pip install --quiet --python $(python) \
	  --require-hashes --requirement requirements.lock
	@touch $@

# Maturin compiles the engine with that profile. `build` replaces the engine in .venv, so that nobody measures with an engine
# that was compiled for tests.
$(stamp)package: $(stamp)packages pyproject.toml
	@MATURIN_PEP517_ARGS="--profile $(profile)" $(stage) "build, and install of the package" \
	  $(python) -m pip install --quiet --no-deps --no-build-isolation --editable .
	@rm -f .venv/bin/nettrial-engine
	@touch $@

audit: $(stamp)packages ## known vulnerabilities of crates and Python packages, if the network has their data
	@$(stage) audit $(python) tools/audit.py

fuzz: $(stamp)package ## each fuzz target of the package and of the engine, for a minute
	@$(stage) "fuzz targets of the package" $(python) -m fuzz.package --seconds 60
	@$(stage) "fuzz targets of the engine" $(python) -m fuzz.engine --seconds 60

kills: test-build $(stamp)tests ## more than 110 kills of long commands at random moments, and a table of what each left
	@$(stage) kills $(as_root) $(python) -m tests.lab.kills

windows: ## the engine for Windows, and Wine, with which a test runs it
	@$(stage) "engine for Windows" tools/build-windows.sh --wine

wheel: $(stamp)system ## a wheel for Linux on this machine's CPU, in dist/; CPU=aarch64 or x86_64 for that one
	@$(stage) wheel tools/build-wheel.sh $(CPU)

kernel: $(stamp)package ## the package nettrial-kernel in dist/, a kernel in virtual time; SOURCE=linux-source-6.1 or a tree for that one
	@$(stage) kernel $(python) tools/build-kernel.py $(SOURCE)

stacks: $(stamp)packages ## the TCP/IP stacks that are programs, in .venv/bin, with Rust and Go
	@$(stage) "build of stacks" tools/build-stacks.sh

stacks-test: $(stamp)tests ## the own tests of the stacks that are programs in Go
	@$(stage) "go test" tools/build-stacks.sh --test

generate: test-build ## what is made from the code: nettrial/scenario.py, nettrial/study/base.py, docs/reference, the schema that `init` writes
	tools/generate-scenario.sh
	$(python) tools/generate-reference.py

lint: lint-engine lint-python ## formatting, lints, types, generated files; `other-systems` does more

# This runs after the build, because both use the same directory of cargo.
lint-engine: test-build
	cargo fmt --check
	@$(stage) "clippy, and cargo build of the engine's tests" $(cargo_test) --no-run

lint-python: words types generated

words: $(stamp)packages ## the words that people read
	@$(python) tools/check-words.py

types: $(stamp)packages
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	@$(stage) mypy .venv/bin/mypy

# On a new machine this takes seven minutes of CPU time, because Rust's standard library is compiled for each system.
other-systems: $(stamp)packages ## whether the engine compiles for Windows, macOS and FreeBSD, and the package's types there
	@$(stage) "other systems" env --unset=RUSTC_WORKSPACE_WRAPPER tools/check-other-systems.sh
	@$(stage) FreeBSD env --unset=RUSTC_WORKSPACE_WRAPPER tools/check-other-systems.sh x86_64-unknown-freebsd
	@for platform in win32 darwin; do $(stage) "mypy for $$platform" .venv/bin/mypy --package nettrial \
	  --platform $$platform --config-file tools/mypy-other-systems.ini --cache-dir .mypy_cache/$$platform; done

generated: test-build
	@$(stage) "generated files" tools/generate-scenario.sh --check
	@$(stage) "generated reference" $(python) tools/generate-reference.py --check

engine-test: test-build ## the engine's own tests
	@$(stage) "cargo test" $(cargo_test)

engine-test-all: engine-test ## the portable agent too, and whether debug and release give the same
	@$(stage) "debug and release" $(cargo_test) --package nettrial-engine -- --ignored
	@$(stage) "portable agent" $(cargo_test) --package nettrial-traffic --features portable

# These run one after the other, because they use the same directory of cargo.
engine-checks: lint-engine
	@$(MAKE) --no-print-directory engine-test

# They yield to the other jobs, which leave a CPU idle at times: at the end these alone use all of them.
unit: test-build ## the tests that need no privileges, in seconds
	@$(stage) "unit tests" nice -n 10 $(python) -m pytest -q -n $(computing) --dist loadfile --no-loadscope-reorder \
	  -m "not slow" tests/unit

# The longest ones come first.
networks: test-build $(stamp)tests ## the tests that build networks, but for those that measure
	@$(stage) "networks, together" $(as_root) $(python) -m pytest -q -n $(together) --dist loadgroup \
	  -m "not measures and not slow and not virtual" \
	  tests/end_to_end tests/lab

# Each kernel keeps a CPU busy.
virtual: test-build $(stamp)tests $(stamp)kernel ## the tests in virtual time, if there is a kernel for them
	@$(stage) "virtual time" $(python) -m pytest -q -n $$(nproc) -m "virtual and not slow" tests/lab

measurements: test-build $(stamp)tests ## the tests that measure, alone, one at a time
	@$(stage) measurements $(as_root) $(python) -m pytest -q -m "measures and not slow" tests/lab tests/end_to_end

mutants: test-build ## whether tests notice changes to the lines of the last ten commits
	@$(stage) "changes that tests must notice" $(python) tools/mutants.py --since HEAD~10

pictures: build ## the pictures of the documentation and the figures that it quotes, from the same runs; STUDIES=NAME for one
	$(as_root) $(python) -m tools.pictures $(STUDIES)

# Runs are kept for the next check, which makes only those whose engine, kernel, package or study has changed. A difference in
# one part does not keep the others from being compared.
book-check: build stacks $(stamp)kernel ## whether deterministic runs still give the chapters, tables, answers and pictures of the documentation; STUDIES=NAME for one, LONG=--long for all
	@status=0; for part in book figures pictures; do \
	  $(stage) "$$part, compared" $(python) -m tools.$$part --check $(LONG) --runs target/book $(STUDIES) || status=1; \
	done; exit $$status

book: build stacks $(stamp)kernel ## figures of deterministic runs, made again: chapters of Published and measured, tables of the studies' pages; STUDIES=NAME for one, LONG=--long for all
	@for part in book figures; do $(python) -m tools.$$part $(LONG) --runs target/book $(STUDIES); done

docs: build ## the documentation, as a site in site/
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet

bench: build ## timings, as ratios or shares
	$(as_root) $(python) benches/trial_share.py
	$(as_root) $(python) benches/against_peers.py
	$(as_root) $(python) benches/fabric.py
	$(as_root) $(python) benches/machines.py
	$(as_root) $(python) benches/machine_sets.py
	$(python) benches/large_run.py
	$(python) benches/simulator.py
	$(as_root) $(python) benches/rfc6356.py
	$(as_root) $(python) benches/simulator_against_lab.py 5 wires
	$(as_root) $(python) benches/simulator_against_lab.py 5 radio

clean: ## everything that was made here
	rm -rf target .venv runs dist report.html
