"""Pages that need nothing but themselves, and files that appear whole or not at all."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from nettrial import __version__
from nettrial.errors import BadInput
from nettrial.report import numbers


def environment() -> Environment:
    """Where templates are rendered: whatever comes from users is escaped."""
    made = Environment(
        loader=PackageLoader("nettrial.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["minus"] = _minus
    made.filters["counted"] = numbers.counted
    made.filters["numbered"] = numbers.numbered
    made.globals["version"] = __version__
    assert made.loader is not None
    made.globals["style"] = made.loader.get_source(made, "report.css")[0]
    return made


def write(target: Path, data: bytes, doing: str) -> None:
    """Writes a file, whole or not at all. Raises BadInput where it can't be written; `doing` is what nettrial
    is at."""
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            temporary = Path(file.name)
            try:
                file.write(data)
                file.flush()
                temporary.chmod(0o644)
                temporary.replace(target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(doing, str(target), reason, "a directory to write to") from None


def _minus(text: str) -> str:
    """Hyphens before numbers as minus signs; those inside names stay."""
    return re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", text)
