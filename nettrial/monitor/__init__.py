"""Measurements between many hosts, round after round: the mesh, the schedule, the archive and its page."""
