"""A run as tables with units in their columns' names, and as files of them."""

from nettrial.export.files import FORMS, export
from nettrial.export.frames import frames
from nettrial.export.layout import TABLES, RecordTable

__all__ = ["FORMS", "TABLES", "RecordTable", "export", "frames"]
