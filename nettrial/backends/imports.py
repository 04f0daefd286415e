"""The reading of iperf3's measurements, in a separate engine process."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from nettrial.backends.engine import EngineLost
from nettrial.backends.keeper import Keeper
from nettrial.errors import CannotRun, Lack
from nettrial.scenario import (
    ImportAnswer,
    ImportedAnswer,
    ImportRequest,
    Iperf3Document,
    OtherDocument,
    RefusedDocument,
)

PATIENCE_SECONDS = 600.0
"""The time in seconds allowed for a file. The largest file takes an engine without optimisations 14 s of CPU
time."""


class ImportReader:
    """An engine that reads the texts of files, one after the other."""

    def __init__(self) -> None:
        """Prepares the engine, which the first text starts; raises CannotRun if there is none."""
        self._keeper = Keeper("import")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the engine."""
        self._keeper.close()

    def documents(self, text: str) -> list[Iperf3Document | RefusedDocument | OtherDocument]:
        """Returns the documents in a text, in their order; raises CannotRun if the engine is lost."""
        try:
            answer = self._keeper.exchange(ImportRequest(text=text), ImportAnswer, PATIENCE_SECONDS).root
        except EngineLost as lost:
            lack = Lack(str(self._keeper.binary), str(lost), lost.kind.remedy())
            raise CannotRun("reading measurements of iperf3", [lack]) from None
        if isinstance(answer, ImportedAnswer):
            return [document.root for document in answer.documents]
        lack = Lack(str(self._keeper.binary), answer.message, "report this as a fault of nettrial")
        raise CannotRun("reading measurements of iperf3", [lack])
