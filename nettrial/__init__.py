"""Controlled trials for network performance: this package plans and explains, the engine measures."""

__version__ = "0.1.0"
"""The package's version; the engine has the same."""
