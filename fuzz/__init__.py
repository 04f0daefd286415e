"""Fuzz targets: see README.md."""
