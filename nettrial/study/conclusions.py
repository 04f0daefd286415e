"""The conclusions of a study's source, and the comparisons that judge them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nettrial.fields import Name, Strict, as_text, wrong

Expected = Literal["higher", "lower", "same"]
"""The way in which a response differs, if a conclusion holds."""


def _as_list(value: Any) -> Any:
    """A level alone as a list of it."""
    return value if isinstance(value, list) else [value]


def _as_percent(value: Any) -> float:
    """A percentage of 0 or more as a number: "10%" or 10."""
    text = value.strip().removesuffix("%").strip() if isinstance(value, str) else value
    try:
        number = -1.0 if isinstance(text, bool) else float(text)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < float("inf"):
        raise wrong(expected='a percentage of 0 or more, such as "10%"')
    return number


class Conclusion(Strict):
    """A conclusion that the source draws, and the comparison that judges it: of a factor's level with
    others, or of a response with another one."""

    name: Name
    """Unique in the study: letters, digits, - and _."""
    says: str
    """The conclusion, in the source's words or in a sentence of one's own."""
    place: str | None = None
    """The place in the source, such as "section 6"."""
    response: str | None = None
    """The response that judges it."""
    expect: Expected | None = None
    """The way in which the response differs if the conclusion holds."""
    by: Annotated[float, BeforeValidator(_as_percent)] = 0
    """The difference in percent: at least this much for `higher` and `lower`, at most for `same`."""
    factor: str | None = None
    """The factor whose levels are compared."""
    level: Annotated[str, BeforeValidator(as_text)] | None = None
    """The level of that factor that the conclusion is about."""
    than: Annotated[list[Annotated[str, BeforeValidator(as_text)]], BeforeValidator(_as_list)] = []
    """The levels that it is compared with: one, or several, to all of which the conclusion applies; by
    default the factor's baseline."""
    than_response: str | None = None
    """Instead of a factor: the response of the same trials that `response` is compared with."""
    where: Annotated[dict[str, Annotated[str, BeforeValidator(as_text)]], Field(default_factory=dict)]
    """The level of another factor at which it is judged, by factor; over all levels of those not named."""
    not_testable: str | None = None
    """Why nothing here can judge it; then it has no comparison."""
