"""What a run found, for a reader: on the terminal, and as one page."""
