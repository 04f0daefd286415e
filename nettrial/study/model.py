"""The study: its settings, factors and responses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from nettrial.bounds import MOST_FILE_BYTES, MOST_RERUNS
from nettrial.capabilities import CAPABILITIES, MEASURED, OF_MEASUREMENTS
from nettrial.errors import BadInput
from nettrial.fields import (
    LONGEST_VALUE_SHOWN,
    Level,
    Name,
    Strict,
    as_value,
    name_in,
    wrong,
)
from nettrial.files import Unreadable, beside, read_text
from nettrial.metrics import METRICS
from nettrial.scenario import Capabilities
from nettrial.study import checks, delay_trace, rate_trace, trace_file
from nettrial.study.conclusions import Conclusion
from nettrial.study.document import READING as READING_STUDY
from nettrial.study.document import Document
from nettrial.study.overrides import READING, apply
from nettrial.study.paths import substitute
from nettrial.study.settings import Settings

AS_WRITTEN = "as_written"
"""The key of the validation context that is true for a study without changes by options."""
SETTINGS_OF_LEVELS = (
    "settings of a level stand under `sets`, by its name: "
    "sets: {NAME: {network.queue: 50 packets}}, levels: [NAME]"
)
"""The hint for settings among the levels."""
LARGEST_PRECISION = 100.0
"""The largest precision in percent: an interval wider than its mean on either side is useless."""


class Factor(Strict):
    """A setting with several values."""

    title: str
    """The heading in tables and charts."""
    sets: str | dict[str, dict[str, Any]]
    """The setting: a dotted path from `network`, `hosts`, `workload` (then a flow's name) or `measurement`.
    If a level sets several settings, or different ones than other levels, this is a mapping from each level
    to its settings with their values."""
    levels: Annotated[list[Level], Field(min_length=1)]
    """The levels. In the study, each has its setting's canonical form, such as "1500 B"; they are names if
    `sets` is a mapping."""
    baseline: Level | None = None
    """The level with which others are compared, by default the first; in a study it is never None."""

    @field_validator("levels", mode="before")
    @classmethod
    def _levels_are_names(cls, levels: Any) -> Any:
        """Refuses levels with settings."""
        for place, each in enumerate(levels) if isinstance(levels, list) else [(None, levels)]:
            if isinstance(each, Mapping):
                at = () if place is None else (place,)
                raise wrong(at, str(each), "a list of names or values", SETTINGS_OF_LEVELS)
        return levels

    @field_validator("sets", mode="before")
    @classmethod
    def _with_traces(cls, sets: Any, info: ValidationInfo) -> Any:
        """Reads the traces that levels name."""
        folder = (info.context or {}).get("folder")
        return sets if folder is None else _with_traces(sets, Path(folder))

    @property
    def paths(self) -> list[str]:
        """Returns all settings that one of its levels sets."""
        if isinstance(self.sets, str):
            return [self.sets]
        return list(dict.fromkeys(path for settings in self.sets.values() for path in settings))

    def settings(self, level: str) -> dict[str, Any]:
        """Returns the settings of a level, as values by dotted path; raises KeyError if `sets` does not have
        the level."""
        if isinstance(self.sets, str):
            return {self.sets: as_value(level)}
        # A group of settings comes before its fields, whichever is written first: YAML puts merge keys last.
        return dict(sorted(deepcopy(self.sets[level]).items(), key=lambda setting: setting[0].count(".")))


def _as_percent(value: Any) -> float:
    """Converts a percentage above 0, such as "2%", "0.5 %" or 2, into a number."""
    text = value.strip().removesuffix("%").strip() if isinstance(value, str) else value
    try:
        number = float("nan") if isinstance(text, bool) else float(text)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number <= LARGEST_PRECISION:
        raise wrong(expected='a percentage above 0 and up to 100, such as "2%"')
    return number


class Response(Strict):
    """A metric of a flow, host or interface, or of the network, that the study measures."""

    name: Name
    """The response's name, unique in the study: letters, digits, - and _."""
    title: str
    """The heading in tables and charts."""
    metric: Annotated[str, name_in(METRICS)]
    """The metric, by its name in `nettrial list metrics`."""
    of: str
    """The object of the metric: the name of a flow, a group of flows or a host; FLOW.BYTES for a size of a
    sweep; an interface as NODE.INTERFACE, or only the node if it has one interface; `controller` for that of
    the switches; `network` for the network itself."""
    unit: str
    """The metric's unit, repeated here so that the study file is self-explanatory."""
    precision: Annotated[float, BeforeValidator(_as_percent, json_schema_input_type=float | str)] | None = (
        None
    )
    """The desired precision of each treatment's mean: the half-width of its 95% interval, in percent of the
    mean, such as "2%". Reports name the treatments that did not reach it."""
    smallest_effect: Annotated[float, BeforeValidator(_as_percent, json_schema_input_type=float | str)] = 1.0
    """The smallest change of interest, in percent, such as "1%", which is the default. Reports call a change
    that is known to be smaller none of this size, whatever its direction."""


class Layout(Strict):
    """The layout of the tables: the factor whose levels are the rows, and the factors whose levels are the
    columns."""

    rows: str
    """The factor whose levels are the rows; changes are relative to its baseline."""
    columns: list[str] = []
    """The other factors."""


class Headline(Strict):
    """The comparison that answers the study's question, with which reports begin: of the levels of a factor
    with its baseline, averaged over all other factors, or of responses with others of the same trials."""

    factor: str | None = None
    """The factor; by default, that of the tables' rows."""
    responses: list[str] = []
    """The responses that are compared; by default, all."""
    pairs: dict[str, str] = {}
    """Instead of a factor: each response to compare, and the response with which it is compared."""
    level: Level | None = None
    """The level of the factor that is compared with the baseline; by default, each."""
    place: Annotated[dict[str, Level], Field(default_factory=dict)]
    """The levels of the other factors at which it is compared, by factor; factors that are not named have
    their baseline. By default, changes are averaged over the other factors, if these do not matter."""


class Source(Strict):
    """The publication that the study reproduces."""

    authors: str
    """The authors, as printed."""
    title: str
    """The title, as printed."""
    venue: str
    """The journal or conference, with volume and pages."""
    year: int | None = None
    """The year of publication, if the source states it."""
    doi: str | None = None
    """The digital object identifier."""


class Published(Strict):
    """The publication's own figures."""

    file: str
    """A CSV file in the directory of the study file."""
    levels: dict[str, dict[str, Level]] = {}
    """The publication's levels with the equivalent levels of the study, by factor."""
    systems: dict[str, list[str]] = {}
    """The factors whose levels are operating systems in the publication, each with the hosts that have them;
    `every` stands for all hosts. Such a level, for example `ubuntu-14.04`, is compared with what these hosts
    report in a trial: the same system, or another of its family, such as any Linux. The name of a family
    stands for all of it."""


class Until(Strict):
    """The stopping rule of a run whose number of blocks is not fixed beforehand: it ends as soon as every
    interval is narrow."""

    percent: Annotated[dict[str, Annotated[float, Field(gt=0)]], Field(min_length=1)]
    """The desired precision by response: the largest half-width of the interval of its mean under each
    treatment, in percent of that mean."""
    minimum: Annotated[int, Field(ge=4)] = 5
    """The number of blocks before the intervals are examined."""
    maximum: Annotated[int, Field(ge=4)] = 50
    """The number of blocks after which the run ends, however wide its intervals are."""


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""The characters not allowed in a study's texts: control characters except tab and line feed, and characters
that XML does not allow."""


def _texts(node: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yields every text of plain data, including names, with the path to it."""
    if isinstance(node, str):
        yield at, node
    elif isinstance(node, Mapping):
        for name, value in node.items():
            yield at, str(name)
            yield from _texts(value, (*at, name))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _texts(value, (*at, number))


def _with_traces(data: Any, folder: Path, setting: str = "") -> Any:
    """Returns what the levels of a factor set, or the value of a setting, with the content of the traces that
    it names. Raises a validator's error if a file has no trace."""
    if not isinstance(data, Mapping):
        return data
    if isinstance(data.get("trace"), str):
        reader = delay_trace.read if setting == "delay" else rate_trace.read
        return trace_file.with_content(data, folder, reader)
    return {name: _with_traces(value, folder, str(name).rpartition(".")[2]) for name, value in data.items()}


_OF_TRIALS = name_in(CAPABILITIES).func


def _known_backend(name: str, info: ValidationInfo) -> str:
    """Returns the name of a backend, or of the origin of stored measurements; raises an error for another
    name, and for such an origin in a study file."""
    stored = "folder" not in (info.context or {})
    return name if stored and name in MEASURED else cast(Callable[[str], str], _OF_TRIALS)(name)


class Study(Settings):
    """A study: settings, the factors that vary some of them, and the responses."""

    study: Name
    """The study's name: letters, digits, - and _."""
    title: str
    """The heading of the study's reports."""
    question: str
    """The question that the study answers, in a sentence."""
    source: Source | None = None
    backend: Annotated[str, AfterValidator(_known_backend)] = "lab"
    """The backend that runs the trials: a name in `nettrial list backends`. By default, trials run in virtual
    time where there is a kernel for it and the study needs nothing that only real time has, and otherwise in
    the lab."""
    replicates: Annotated[int, Field(ge=1)]
    """The number of trials of each treatment, one in each block."""
    full_replicates: Annotated[int, Field(ge=1)]
    """The number of trials of each treatment with `--full`."""
    full: dict[str, Level] = {}
    """The other changes of `--full`: levels or settings, in the notation of `--set`."""
    until: Until | None = None
    """The stopping rule, which overrides `replicates`: blocks are added until intervals are narrow. `nettrial
    run --until` sets it."""
    warmup: Annotated[int, Field(ge=0)]
    """The number of warm-up trials at the start of each session, which are not counted."""
    reruns: Annotated[int, Field(ge=0, le=MOST_RERUNS)] = 2
    """The number of times that a trial is run again if something else disturbed it: other processes, the
    hypervisor, late timers or a clock that was set. Results play no part in that. `nettrial run --reruns`
    sets it."""
    factors: Annotated[dict[str, Factor], Field(min_length=1)]
    responses: Annotated[list[Response], Field(min_length=1)]
    layout: Layout
    headline: Headline | None = None
    published: Published | None = None
    conclusions: list[Conclusion] = []
    """The source's conclusions, on which reports give verdicts."""

    _document: Document | None = PrivateAttr(default=None)
    _settings: dict[tuple[tuple[str, str], ...], Settings] = PrivateAttr(default_factory=dict)
    """A cache of the settings of treatments, because every response asks for the flows of all of them."""
    _canonical: dict[tuple[str, str], str] = PrivateAttr(default_factory=dict)
    """A cache of the canonical forms of levels by factor, because conclusions and published figures name
    levels again. The settings of a level would take 24 kB."""

    @cached_property
    def settings_digest(self) -> bytes:
        """A digest of the settings to which levels are applied."""
        return checks.digest(self.model_dump(by_alias=True, include=set(Settings.model_fields)))

    @model_validator(mode="before")
    @classmethod
    def _plain_text(cls, data: Any) -> Any:
        """Refuses control characters, which terminals would interpret, and characters that drawings can't
        contain."""
        for at, text in _texts(data):
            if CONTROL.search(text):
                raise wrong(at, ascii(text)[:LONGEST_VALUE_SHOWN], "text without control characters")
        return data

    @model_validator(mode="before")
    @classmethod
    def _without_description(cls, data: Any) -> Any:
        """Measurements have no settings of a network, of hosts and of further measurements."""
        if isinstance(data, Mapping) and data.get("backend") in MEASURED:
            return {"network": None, "hosts": {}, "measurement": None, **data}
        return data

    @classmethod
    def of(cls, document: Document) -> Study:
        """Returns the study in a document; raises BadInput with all faults found."""
        context = {"folder": document.path.parent, AS_WRITTEN: not document.options}
        validate = partial(cls.model_validate, context=context)
        try:
            study = validate(document.data)
        except ValidationError as error:
            raise document.bad(error, validate) from None
        study._document = document
        if study.full:
            study.in_full()
        return study

    @property
    def document(self) -> Document:
        """The document from which the study was read. A study from a run file has none."""
        if self._document is None:
            raise ValueError("the study was not read from a study file")
        return self._document

    @property
    def has_document(self) -> bool:
        """True if the study was read from a document."""
        return self._document is not None

    def where(self, *place: str | int) -> str:
        """Returns a value's file, line and dotted path, or the option that set it; for a study from a run
        file, only the path."""
        if self._document is not None:
            return self._document.where(place)
        return f"study {self.study}: {'.'.join(map(str, place))}"

    @property
    def directory(self) -> Path:
        """The directory of the study file."""
        return self.document.path.parent

    def published_text(self) -> str | None:
        """Returns the text of the file of published figures; raises BadInput if it can't be read."""
        if self.published is None:
            return None
        file = self.published.file
        try:
            return read_text(beside(self.directory, file), MOST_FILE_BYTES)
        except Unreadable as why:
            expected = f"a file in the directory of the study file, of up to {MOST_FILE_BYTES} bytes"
            raise BadInput(READING_STUDY, self.where("published", "file"), file, expected, str(why)) from None

    def settings(self, levels: Mapping[str, str]) -> Settings:
        """Returns the settings with the `levels` of factors applied; raises pydantic's ValidationError if
        they are inconsistent."""
        document = self.model_dump(by_alias=True, include=set(Settings.model_fields))
        for factor, level in levels.items():
            for path, value in self.factors[factor].settings(level).items():
                substitute(document, path, value)
        return Settings.model_validate(document)

    def with_overrides(self, overrides: Mapping[str, str]) -> Study:
        """Returns the study with changed levels or settings: comma-separated values by a factor's name or a
        setting's dotted path. A single value fixes a setting; several make it a factor."""
        options = {name: f"--set {name}={text}" for name, text in overrides.items()}
        return Study.of(apply(self, overrides, READING, options)) if overrides else self

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the study's backend."""
        return OF_MEASUREMENTS if self.measured else CAPABILITIES[self.backend]

    @property
    def measured(self) -> bool:
        """True if the runs of the study contain measurements, between hosts and over a network that nobody
        described, instead of trials."""
        return self.backend in MEASURED

    @property
    def names_backend(self) -> bool:
        """False if the study leaves the choice of the backend to nettrial."""
        return "backend" in self.model_fields_set

    @property
    def warm_up_trials(self) -> int:
        """The number of warm-up trials at the start of each session; none if the backend needs no warm-up."""
        return self.warmup if self.capabilities.warm_up else 0

    def on(self, backend: str) -> Study:
        """Returns the study with another backend."""
        return self.model_copy(update={"backend": backend})

    def until_narrow(self, until: Until) -> Study:
        """Returns the study with this stopping rule."""
        return self.model_copy(update={"until": until})

    def run_again(self, reruns: int) -> Study:
        """Returns the study with this number of further attempts at disturbed trials."""
        return self.model_copy(update={"reruns": reruns})

    def in_full(self) -> Study:
        """Returns the study with the changes of `--full` applied."""
        places = {name: self.where("full", name) for name in self.full}
        document = apply(self, self.full, READING_STUDY, places)
        return Study.of(replace(document, data={**document.data, "full": {}}))

    def group(self, treatment: Mapping[str, str], of: str) -> list[str]:
        """Returns the names of the flows that a response of the group `of` combines under a treatment; `of`
        itself if it is not a group."""
        entry, dot, size = of.partition(".")
        members = self._kept_settings(treatment).members(entry)
        return [f"{member.name}{dot}{size}" for member in members] or [of]

    def senders(self, treatment: Mapping[str, str], of: str) -> list[str]:
        """Returns the sending host of each flow of that `group`; none if `of` is not a group."""
        return [member.from_ for member in self._kept_settings(treatment).members(of.partition(".")[0])]

    def _kept_settings(self, treatment: Mapping[str, str]) -> Settings:
        key = tuple(treatment.items())
        if key not in self._settings:
            self._settings[key] = self.settings(treatment)
        return self._settings[key]

    def canonical(self, factor: str, level: str) -> str:
        """Returns a level in its setting's canonical form, or unchanged if it is not a level of the
        factor."""
        try:
            return self.checked_level(factor, level, ())
        except PydanticCustomError:
            return level

    def checked_level(self, factor: str, level: str, at: tuple[str | int, ...]) -> str:
        """Returns a level in its setting's canonical form. `at` is its place in the study; raises pydantic's
        error for it."""
        if (factor, level) not in self._canonical:
            self._canonical[factor, level] = checks.canonical_level(self, factor, level, at)
        return self._canonical[factor, level]

    @model_validator(mode="after")
    def _fits(self, info: ValidationInfo) -> Study:
        """Checks the whole study, and converts its levels to their canonical form."""
        checks.check(self, bool((info.context or {}).get(AS_WRITTEN)))
        return self
