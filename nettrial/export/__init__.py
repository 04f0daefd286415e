"""The export of a run as tables with units in the column names, and as files."""

from nettrial.export.files import FORMS, export, write
from nettrial.export.frames import frames
from nettrial.export.layout import TABLES, RecordTable

__all__ = ["FORMS", "TABLES", "RecordTable", "export", "frames", "write"]
