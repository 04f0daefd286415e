"""The commands and their options.

Each command imports its module when it runs: loading the modules and libraries of all commands would take
longer than most commands take to run."""
