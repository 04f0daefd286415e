#!/usr/bin/env bash
# Writes nettrial/scenario.py, nettrial/path_report.py and nettrial/study/base.py from the engine's JSON Schemas,
# and nettrial/capabilities.json from its capabilities. With --check, it writes nothing and fails if a file is out of date.
set -euo pipefail
cd "$(dirname "$0")/.."
engine=${NETTRIAL_ENGINE:-target/release/nettrial-engine}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# model KIND MODULE SCHEMA [FURTHER-SCHEMA]
model() {
  local kind=$1 module=$2 schema=$3
  shift 3
  .venv/bin/python tools/generate-models.py "$kind" "$@" <"$schema" |
    .venv/bin/ruff format --stdin-filename "nettrial/$module" - >"$scratch/$module"
}

mkdir "$scratch/study"
"$engine" schema >"$scratch/schema.json"
"$engine" schema --path >"$scratch/path.json"
model scenario scenario.py "$scratch/schema.json"
model path path_report.py "$scratch/path.json" "$scratch/schema.json"
model study study/base.py "$scratch/schema.json"
"$engine" capabilities >"$scratch/capabilities.json"
for module in scenario.py path_report.py study/base.py capabilities.json; do
  if [ "${1:-}" = --check ]; then
    diff -u "nettrial/$module" "$scratch/$module" >&2 ||
      { echo "nettrial/$module is not what the engine gives: run 'make generate'" >&2; exit 1; }
  else
    mv "$scratch/$module" "nettrial/$module"
  fi
done
