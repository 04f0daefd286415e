"""Measurements between this machine and a server, without a study. Each kind is a module, which is imported
only when it is used."""
