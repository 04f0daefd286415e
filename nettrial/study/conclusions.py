"""The conclusions of a study's source, and the comparisons that judge them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nettrial.fields import Level, Name, Strict, wrong

Expected = Literal["higher", "lower", "same"]
"""The difference of a response that a conclusion expects."""


def _as_list(value: Any) -> Any:
    """Converts a single level into a list."""
    return value if isinstance(value, list) else [value]


def _as_percent(value: Any) -> float:
    """Converts a percentage of 0 or more, such as "10%" or 10, into a number."""
    text = value.strip().removesuffix("%").strip() if isinstance(value, str) else value
    try:
        number = -1.0 if isinstance(text, bool) else float(text)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < float("inf"):
        raise wrong(expected='a percentage of 0 or more, such as "10%"')
    return number


class Conclusion(Strict):
    """A conclusion of the source, and the comparison that tests it: of a factor's level with others, or of a
    response with another one."""

    name: Name
    """The conclusion's name, unique in the study: letters, digits, - and _."""
    says: str
    """The conclusion, quoted from the source or paraphrased in a sentence."""
    place: str | None = None
    """The place in the source, such as "section 6"."""
    response: str | None = None
    """The response that tests it."""
    expect: Expected | None = None
    """The direction in which the response differs if the conclusion holds."""
    by: Annotated[float, BeforeValidator(_as_percent, json_schema_input_type=float | str)] = 0
    """The difference in percent: the smallest for `higher` and `lower`, the largest for `same`."""
    size: Annotated[float, BeforeValidator(_as_percent, json_schema_input_type=float | str)] | None = None
    """The size of the change that the source prints, in percent; reports state the measured one in parts of
    it."""
    factor: str | None = None
    """The factor whose levels are compared."""
    level: Level | None = None
    """The level of this factor that the conclusion concerns."""
    than: Annotated[list[Level], BeforeValidator(_as_list, json_schema_input_type=list[Level] | Level)] = []
    """The level or levels with which it is compared; the conclusion applies to all of them. By default it is
    the factor's baseline."""
    than_response: str | None = None
    """Instead of a factor, the response of the same trials with which `response` is compared."""
    where: Annotated[dict[str, Level], Field(default_factory=dict)]
    """The levels of other factors at which it is tested, by factor. At each level of the factors that are not
    named, it is judged alone."""
    than_where: Annotated[
        list[dict[str, Level]],
        BeforeValidator(_as_list, json_schema_input_type=list[dict[str, Level]] | dict[str, Level]),
    ] = []
    """Other levels of factors that `where` names, or several of such sets of levels: the change is compared
    with the same change there, in the direction that it has there, and expected to be larger (`higher`),
    smaller (`lower`) or the same. Without a factor, the response is compared with itself there."""
    direction: Literal["higher", "lower"] | None = None
    """With `than_where`, the direction of both changes in the source: a change in the other direction counts
    as negative. Without it, the direction is that of the change at `than_where`."""
    not_testable: str | None = None
    """The reason why nothing here can test the conclusion, instead of a comparison."""
