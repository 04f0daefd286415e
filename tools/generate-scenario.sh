#!/usr/bin/env bash
# Writes nettrial/scenario.py from the engine's JSON Schema. With --check it writes nothing and fails
# if the file is not what the schema gives.
set -euo pipefail
cd "$(dirname "$0")/.."
engine=${NETTRIAL_ENGINE:-target/release/nettrial-engine}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$engine" schema >"$scratch/schema.json"
.venv/bin/datamodel-codegen --input "$scratch/schema.json" --input-file-type jsonschema \
  --output "$scratch/scenario.py" --output-model-type pydantic_v2.BaseModel --target-python-version 3.11 \
  --use-standard-collections --use-union-operator --use-annotated --use-schema-description \
  --use-field-description --enum-field-as-literal all --use-title-as-name \
  --use-double-quotes --use-one-literal-as-default --formatters ruff-format --disable-timestamp \
  --custom-file-header '"""The scenario, the record, and the lines that carry them: generated from the engine'"'"'s JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/scenario.
"""' 2>/dev/null
if [ "${1:-}" = --check ]; then
  diff -u nettrial/scenario.py "$scratch/scenario.py" >&2 ||
    { echo "nettrial/scenario.py is not what the engine's schema gives: run 'make generate'" >&2; exit 1; }
else
  mv "$scratch/scenario.py" nettrial/scenario.py
fi
