"""The export of a run as tables with units in the column names, and as files."""

from nettrial.export.files import EXPORTING, FORMS, export, write
from nettrial.export.layout import TABLES, RecordTable
from nettrial.export.record_frames import frames

__all__ = ["EXPORTING", "FORMS", "TABLES", "RecordTable", "export", "frames", "write"]
