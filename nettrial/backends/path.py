"""The examination of a path, in a separate engine process."""

from __future__ import annotations

from nettrial.backends import find
from nettrial.backends.engine import Engine, EngineLost
from nettrial.errors import READING_OPTIONS, BadInput, CannotRun, Lack
from nettrial.path_report import BadRequestAnswer, PathAnswer, PathReport, PathRequest, ReportAnswer

PATIENCE_SECONDS = 600.0
"""The time in seconds allowed for an examination. Hosts that do not answer take longest."""


def examine(request: PathRequest) -> PathReport:
    """Examines a path; raises BadInput for an invalid request, and CannotRun if this machine can't probe."""
    doing = f"examining the path to {request.host}"
    binary = find.engine()
    try:
        engine = Engine(binary, "path")
        try:
            answer = engine.exchange(request, PathAnswer, PATIENCE_SECONDS).root
        finally:
            engine.close()
    except EngineLost as lost:
        raise CannotRun(doing, [Lack(str(binary), str(lost), lost.kind.remedy())]) from None
    if isinstance(answer, ReportAnswer):
        return answer.report
    if isinstance(answer, BadRequestAnswer):
        problem = answer.problem
        option = "HOST" if problem.setting == "host" else f"--{problem.setting.replace('_', '-')}"
        raise BadInput(READING_OPTIONS, option, problem.value, problem.expected, problem.hint)
    raise CannotRun(doing, answer.missing)
