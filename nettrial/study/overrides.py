"""The changes of a study by levels or settings given on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from nettrial.errors import BadInput
from nettrial.fields import as_text, as_value
from nettrial.registry import near
from nettrial.study.document import Document
from nettrial.study.paths import NoSuchSetting, ending_in, substitute
from nettrial.study.settings import Settings

if TYPE_CHECKING:
    from nettrial.study.model import Study

READING = "reading the options"
"""The current action, for error messages."""


def apply(study: Study, overrides: Mapping[str, str], doing: str, places: Mapping[str, str]) -> Document:
    """Returns the study's document with `overrides` applied, given by a factor's name or a setting's dotted
    path. `doing` and `places`, the place of each override, are for errors."""
    document = study.model_dump(by_alias=True)
    options = dict(study.document.options)
    for name, text in overrides.items():
        option = places[name]
        values = [as_value(value.strip()) for value in text.split(",")]
        if "" in values:
            raise BadInput(doing, option, "a value is empty", "one or more values, separated by commas")
        factor = next((key for key, entry in study.factors.items() if name in (key, entry.sets)), None)
        setter = next((key for key, entry in study.factors.items() if name in entry.paths), None)
        if factor is None and setter is not None:
            expected = f"another setting, or the factor's levels: {', '.join(study.factors[setter].levels)}"
            raise BadInput(doing, option, f"the factor {setter} sets it", expected)
        if factor is not None:
            entry = document["factors"][factor]
            entry["levels"] = values
            if entry["baseline"] not in [study.canonical(factor, as_text(value)) for value in values]:
                entry["baseline"] = None
            options["factors", factor] = option
            continue
        try:
            place = substitute({name: document[name] for name in Settings.model_fields}, name, values[0])
        except NoSuchSetting as error:
            names = error.names if "." in name else [*study.factors, *error.names]
            last = name.split(".")[-1]
            same = ending_in({name: document[name] for name in Settings.model_fields}, last)
            is_near = last.lower() in [each.lower() for each in names]
            hint = f"did you mean {same[0]!r}?" if same and not is_near else near(last, names)
            raise BadInput(doing, option, "no such factor or setting", ", ".join(names), hint) from None
        options[place] = option
        if len(values) > 1:
            document["factors"][name] = {"title": name, "sets": name, "levels": values}
            document["layout"]["columns"].append(name)
            options["factors", name] = option
    return replace(study.document, data=document, options=options)
