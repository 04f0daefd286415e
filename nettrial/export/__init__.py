"""The export of a run as tables with units in the column names, and as files. It needs the extra
`nettrial[tables]`."""

from nettrial.export.files import EXPORTING, FORMS, export, write
from nettrial.export.layout import TABLES, RecordTable
from nettrial.export.record_frames import frames, responses_frame

__all__ = ["EXPORTING", "FORMS", "TABLES", "RecordTable", "export", "frames", "responses_frame", "write"]
