# `make demo` and `make test` do everything on a fresh Debian or Ubuntu, as root or with sudo.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
export PATH := $(CURDIR)/.venv/bin:$(PATH):$(HOME)/.cargo/bin

python := .venv/bin/python
stamp := .venv/.installed-
ifeq ($(shell id -u),0)
  as_root :=
else
  as_root := sudo --preserve-env=PATH,CI
endif

.PHONY: demo test setup build generate lint unit engine-test docs bench clean

demo: build ## run the first study and leave report.html
	@run=runs/demo-$$(date -u +%Y%m%d-%H%M%S); \
	$(as_root) .venv/bin/nettrial run jumbo-ipv6 --out "$$run"; \
	cp "$$run/report.html" report.html; \
	echo "report: $$PWD/report.html" >&2

test: lint engine-test $(stamp)tests ## everything, the lab tests included; those measure, and run one at a time
	$(python) -m pytest -q -n 2 tests/unit
	$(as_root) $(python) -m pytest -q tests/lab tests/end_to_end

setup: $(stamp)packages ## what the system and the virtual environment need

build: $(stamp)package ## the engine and the nettrial command, in .venv/bin
	cargo build --release --locked --quiet
	@install -C -m 755 target/release/nettrial-engine .venv/bin/nettrial-engine

$(stamp)system: tools/setup.sh
	tools/setup.sh
	@touch $@

$(stamp)tests: tools/setup-tests.sh $(stamp)system
	tools/setup-tests.sh
	@touch $@

$(stamp)packages: $(stamp)system requirements.lock
	$(python) -m pip install --quiet --require-hashes --requirement requirements.lock
	@touch $@

$(stamp)package: $(stamp)packages pyproject.toml
	$(python) -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

generate: build ## what is made from the code: nettrial/scenario.py, docs/reference
	tools/generate-scenario.sh
	$(python) tools/generate-reference.py

lint: build ## formatting, lints, types, generated files
	cargo fmt --check
	cargo clippy --locked --quiet --all-targets -- --deny warnings
	tools/generate-scenario.sh --check
	$(python) tools/generate-reference.py --check
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/mypy --platform win32 --cache-dir .mypy_cache/win32
	.venv/bin/mypy --platform darwin --cache-dir .mypy_cache/darwin

engine-test: setup ## the engine's own tests
	cargo test --locked --quiet

unit: build ## the tests that need no rights, in seconds
	$(python) -m pytest -q -n 2 tests/unit

docs: build ## the documentation, as a site in site/
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet

bench: build ## timings, as ratios or shares
	$(as_root) $(python) benches/trial_share.py
	$(as_root) $(python) benches/against_peers.py
	$(as_root) $(python) benches/fabric.py
	$(python) benches/large_run.py
	$(python) benches/simulator.py
	$(as_root) $(python) benches/rfc6356.py
	$(as_root) $(python) benches/simulator_against_lab.py

clean: ## everything that was made here
	rm -rf target .venv runs report.html
