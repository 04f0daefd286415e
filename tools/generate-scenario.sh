#!/usr/bin/env bash
# Writes nettrial/scenario.py, nettrial/path_report.py and nettrial/study/base.py from the engine's JSON Schemas,
# and nettrial/capabilities.json from its capabilities. With --check, it writes nothing and fails if a file is out of date.
set -euo pipefail
cd "$(dirname "$0")/.."
engine=${NETTRIAL_ENGINE:-target/release/nettrial-engine}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# generate MODULE WHAT CRATE [OPTION-OF-SCHEMA]
generate() {
  local module=$1 what=$2 crate=$3
  shift 3
  # Sorted: the columns of exported tables are in the order of the fields.
  "$engine" schema "$@" | .venv/bin/python -m json.tool --sort-keys >"$scratch/schema.json"
  .venv/bin/datamodel-codegen --input "$scratch/schema.json" --input-file-type jsonschema \
    --output "$scratch/$module" --output-model-type pydantic_v2.BaseModel --target-python-version 3.11 \
    --base-class nettrial.fields.Generated --use-standard-collections --use-union-operator --use-annotated --use-schema-description \
    --use-field-description --enum-field-as-literal all --use-title-as-name \
    --use-double-quotes --use-one-literal-as-default --formatters ruff-format --disable-timestamp \
    --custom-file-header '"""'"$what: generated from the engine's JSON Schema.

Made by \`make generate\`; never edited by hand. The types are described in $crate.
"'"""
' 2>/dev/null
}

generate scenario.py "The scenario, the record, and the lines that carry them" engine/scenario
generate path_report.py "The request for an examination of a path, and its answer" engine/path --path
mkdir "$scratch/study"
"$engine" schema | .venv/bin/python tools/generate-study-models.py |
  .venv/bin/ruff format --stdin-filename nettrial/study/base.py - >"$scratch/study/base.py"
"$engine" capabilities >"$scratch/capabilities.json"
for module in scenario.py path_report.py study/base.py capabilities.json; do
  if [ "${1:-}" = --check ]; then
    diff -u "nettrial/$module" "$scratch/$module" >&2 ||
      { echo "nettrial/$module is not what the engine gives: run 'make generate'" >&2; exit 1; }
  else
    mv "$scratch/$module" "nettrial/$module"
  fi
done
