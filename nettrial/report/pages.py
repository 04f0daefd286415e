"""Self-contained HTML pages, and files that appear completely or not at all."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from nettrial import __version__
from nettrial.defaults import user_defaults
from nettrial.errors import BadInput
from nettrial.report import numbers
from nettrial.store.fingerprint import commit_in_words
from nettrial.temporary import replace_file


@cache
def environment() -> Environment:
    """Returns the environment in which templates are rendered, with all texts from users escaped. It is
    shared, because compiling the templates takes as long as drawing some charts."""
    made = Environment(
        loader=PackageLoader("nettrial.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["minus"] = _minus
    made.filters["marked"] = _marked
    made.filters["heading"] = lambda text: text[:1].upper() + text[1:]
    made.filters["counted"] = numbers.counted
    made.filters["commit"] = commit_in_words
    made.filters["numbered"] = numbers.numbered
    made.globals["version"] = __version__
    made.globals["theme"] = _theme
    made.globals["style"] = _source("report.css")
    made.globals["script"] = _source("report.js")
    return made


def _theme() -> Markup:
    """Returns the attribute of a page's element `html` that selects the user's theme; empty for the
    browser's."""
    theme = user_defaults().theme
    return Markup("") if theme == "system" else Markup(' data-theme="{}"').format(theme)


@cache
def _source(name: str) -> str:
    """Returns the content of a file next to the templates, to be embedded in a page."""
    loader = PackageLoader("nettrial.report")
    return "\n" + loader.get_source(Environment(), name)[0].strip() + "\n"


def policy(script: bool = True, live: bool = False) -> str:
    """Returns a page's Content-Security-Policy: it allows only the page's own style and script, by their
    hashes; a live page may also send requests to its server."""
    parts = ["default-src 'none'", f"style-src {_hash('report.css')}", "img-src data:"]
    parts += [f"script-src {_hash('report.js')}"] if script else []
    parts += ["connect-src 'self'"] if live else []
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])


def _hash(name: str) -> str:
    digest = hashlib.sha256(_source(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def write(target: Path, content: bytes, doing: str) -> None:
    """Writes a file that the user named, completely or not at all; raises BadInput if it can't be written.
    `doing` describes the current action for the error. A pipe or a device, such as /dev/stdout, is written to
    and not replaced."""
    if Path("/dev") not in target.absolute().parents or (target.is_file() and not target.is_symlink()):
        replace(target, content, doing)
        return
    try:
        target.write_bytes(content)
    except OSError as error:
        raise _unwritten(target, doing, error) from None


def replace(target: Path, content: bytes, doing: str) -> None:
    """Writes a file completely or not at all, and replaces what had its name; raises BadInput if it can't be
    written. A symbolic link of this name is replaced and not followed."""
    try:
        replace_file(target, content)
    except OSError as error:
        raise _unwritten(target, doing, error) from None


def _unwritten(target: Path, doing: str, error: OSError) -> BadInput:
    return BadInput(doing, str(target), error.strerror or str(error), "a directory to write to")


def _minus(text: str) -> str:
    """Returns a text with hyphens before numbers replaced by minus signs; hyphens inside names stay."""
    return re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", text)


def _marked(text: str) -> Markup:
    """Returns an escaped text in which the parts between backticks are marked as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
