"""The parts of tools/generate-reference.py."""
