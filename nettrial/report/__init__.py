"""Reports of what a run found: on the terminal, and as one page."""
