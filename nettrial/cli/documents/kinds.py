"""The documents of all commands."""

from __future__ import annotations

from nettrial.cli.documents.base import JsonDocument
from nettrial.cli.documents.calibrate import CalibrateDocument
from nettrial.cli.documents.compare import CompareDocument
from nettrial.cli.documents.design import DesignDocument
from nettrial.cli.documents.doctor import DoctorDocument
from nettrial.cli.documents.draw import DrawDocument
from nettrial.cli.documents.listing import ListDocument
from nettrial.cli.documents.measure import MeasureDocument, Ndt7Document, StampDocument
from nettrial.cli.documents.predict import PredictDocument
from nettrial.cli.documents.report import ReportDocument
from nettrial.cli.documents.runs import RunsDocument
from nettrial.cli.documents.serve import ServeDocument

DOCUMENTS: tuple[type[JsonDocument], ...] = (
    ReportDocument,
    DesignDocument,
    ListDocument,
    DoctorDocument,
    RunsDocument,
    CompareDocument,
    PredictDocument,
    MeasureDocument,
    Ndt7Document,
    StampDocument,
    ServeDocument,
    DrawDocument,
    CalibrateDocument,
)
"""Every document, in the order of the reference."""
