"""Pages that need nothing but themselves, and files that appear whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import re
import tempfile
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from nettrial import __version__
from nettrial.errors import BadInput
from nettrial.report import numbers


@cache
def environment() -> Environment:
    """Returns the environment in which templates are rendered: whatever comes from users is escaped.
    There is one: compiling the templates takes as long as drawing some charts."""
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
    made.globals["style"] = _source("report.css")
    made.globals["script"] = _source("report.js")
    return made


@cache
def _source(name: str) -> str:
    """A file beside the templates, as it is put into a page."""
    loader = PackageLoader("nettrial.report")
    return "\n" + loader.get_source(Environment(), name)[0].strip() + "\n"


def policy(script: bool = True, live: bool = False) -> str:
    """A page's Content-Security-Policy: its own style and script by their hashes, and nothing else; live, it
    may ask the server it comes from."""
    parts = ["default-src 'none'", f"style-src {_hash('report.css')}", "img-src data:"]
    parts += [f"script-src {_hash('report.js')}"] if script else []
    parts += ["connect-src 'self'"] if live else []
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])


def _hash(name: str) -> str:
    digest = hashlib.sha256(_source(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def write(target: Path, data: bytes, doing: str) -> None:
    """Writes a file, whole or not at all. Raises BadInput where it can't be written; `doing` is what nettrial
    is at."""
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            temporary = Path(file.name)
            try:
                file.write(data)
                file.close()  # Windows renames no open file
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
