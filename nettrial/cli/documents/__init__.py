"""The documents that commands print with `--json`, and the source of docs/reference/json.md.

Each document states its kind (`document`), the version of its form (`format`) and the version of nettrial.
Adding a field leaves `format` unchanged; removing a field or changing its meaning raises it."""
