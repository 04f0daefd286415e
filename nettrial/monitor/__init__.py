"""Repeated measurements between many hosts: the mesh, the schedule, the archive and its page."""
