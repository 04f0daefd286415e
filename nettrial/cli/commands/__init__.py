"""The commands and their options.

Each command imports its module when it runs: those of the others, and what they need, would take longer to
load than most commands take to run."""
