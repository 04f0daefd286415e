"""Reports of a run's results: on the terminal, and as a single HTML page."""
