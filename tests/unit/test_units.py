"""Quantities with units, by the examples that Rust and Python share."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from nettrial import units
from nettrial.fields import Strict, Wrong, as_text, as_value
from nettrial.units import (
    DURATION,
    LARGEST,
    PERIOD,
    RATE,
    SIZE,
    Fraction,
    Probability,
    QueueLimit,
    UnitError,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "units.json").read_text())
QUANTITIES = {"rate": RATE, "size": SIZE, "duration": DURATION}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['quantity']}: {vector['text']}")
def test_agrees_with_the_engine(vector):
    if vector["quantity"] == "queue limit":

        def read(text):
            limit = QueueLimit.parse(text)
            return {limit.unit: limit.value}, limit.print()
    else:
        quantity = QUANTITIES[vector["quantity"]]

        def read(text):
            value = quantity.parse(text)
            return value, quantity.print(value)

    if vector.get("error"):
        with pytest.raises(UnitError) as caught:
            read(vector["text"])
        assert (caught.value.quantity, caught.value.expected) == (vector["quantity"], vector["error"])
    else:
        assert read(vector["text"]) == (vector["value"], vector["printed"])


@given(value=st.integers(0, LARGEST) | st.integers(0, 10**6).map(lambda n: n * 1024) | st.integers(0, 10**6))
@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=QUANTITIES)
def test_what_is_printed_parses_back(quantity, value):
    assert quantity.parse(quantity.print(value)) == value


@given(st.text() | st.from_regex(r"[0-9.]{0,25} ?(B|MB|Gbit/s|ms|packets)?", fullmatch=True))
def test_any_text_is_parsed_or_refused(text):
    for parse in (RATE.parse, SIZE.parse, DURATION.parse, QueueLimit.parse):
        with contextlib.suppress(UnitError):
            parse(text)


def test_a_field_holds_the_printed_form():
    assert TypeAdapter(units.Size).validate_python("9 kB") == "9000 B"
    assert TypeAdapter(units.Size).validate_python(9000) == "9000 B"
    assert TypeAdapter(units.Rate).validate_python("1000 Mbit/s") == "1 Gbit/s"
    assert TypeAdapter(units.Queue).validate_python("10packets") == "10 packets"


@pytest.mark.parametrize(
    ("type", "value"),
    [(units.Size, True), (units.Size, 1.5), (units.Size, -1), (units.Rate, 1000), (units.Queue, 1000)],
)
def test_a_number_without_a_unit_is_bytes_or_nothing(type, value):
    with pytest.raises(ValidationError):
        TypeAdapter(type).validate_python(value)


class Link(Strict):
    loss: Probability = Fraction(1.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1%", 0.01),
        ("0.1 %", 0.001),
        ("100%", 1.0),
        ("0%", 0.0),
        (0, 0.0),
        (0.01, 0.01),
        ("0.25", 0.25),
        ("1e-3", 0.001),
        (Fraction(1), 1.0),
    ],
)
def test_a_probability_is_a_fraction_or_a_percentage(text, value):
    read = Link.model_validate({"loss": text})
    assert read.loss == value
    # It is read as the same value from a model, from a level's text and from a run file.
    assert Link.model_validate(read.model_dump()) == read
    assert Link.model_validate({"loss": as_value(as_text(read.loss))}) == read
    assert Link.model_validate_json(read.model_dump_json()) == read


@pytest.mark.parametrize("value", [1, 1.0, "1", 2, -0.1, "101%", "-1%", "one", "", True, None, float("nan")])
def test_a_number_that_may_lack_its_unit_is_no_probability(value):
    with pytest.raises(ValidationError) as caught:
        Link.model_validate({"loss": value})
    (wrong,) = Wrong.of(caught.value)
    assert wrong.expected == "a fraction below 1, such as 0.01, or a percentage up to 100%, such as 1%"
    assert ("may mean 1% or 100%" in wrong.hint) == (value in (1, "1") and value is not True)


def test_a_certain_loss_keeps_its_unit_as_a_level():
    assert [as_text(Fraction(value)) for value in (1, 0.01, 0)] == ["100%", "0.01", "0"]
    assert Link().loss == 1


@pytest.mark.parametrize(
    ("quantity", "text", "hint"),
    [
        (RATE, "100M", "did you mean '100 Mbit/s'?"),
        (RATE, "100 Mbps", "did you mean '100 Mbit/s'?"),
        (RATE, "2.50g", "did you mean '2.5 Gbit/s'?"),
        (RATE, "100Mb", "did you mean '100 Mbit/s'?"),
        (RATE, "10Kbit", "did you mean '10 kbit/s'?"),
        (RATE, "10 MB/s", ""),
        (RATE, "10 MBps", ""),
        (RATE, "0.12345M", "did you mean '0.12345 Mbit/s'?"),
        (RATE, "1.23456 kbit/s", ""),
        (RATE, "99999999999999999999G", ""),
        (DURATION, "1h", "did you mean '60 min'?"),
        (DURATION, "1.5 h", "did you mean '90 min'?"),
        (DURATION, "10 sec", "did you mean '10 s'?"),
        (DURATION, "soon", ""),
        (PERIOD, "10 minutes", "did you mean '10 min'?"),
        (PERIOD, "1 hour", "did you mean '1 h'?"),
        (SIZE, "1500 bytes", "did you mean '1500 B'?"),
        (SIZE, "64K", "did you mean '64 KiB'?"),
        (SIZE, "64 KB", "did you mean '64 kB'?"),
        (SIZE, "1.0001k", ""),
        (SIZE, "9000", ""),
    ],
)
def test_a_unit_as_other_tools_write_it_has_a_hint_that_is_read(quantity, text, hint):
    with pytest.raises(UnitError):
        quantity.parse(text)
    assert quantity.hint(text) == hint
    if hint:
        assert quantity.parse(hint.split("'")[1]) > 0


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("100", "did you mean '100 packets'?"),
        ("100p", "did you mean '100 packets'?"),
        ("1 packet", "did you mean '1 packets'?"),
        ("64 KB", "did you mean '64 kB'?"),
        ("long", ""),
    ],
)
def test_a_queue_as_other_tools_write_it_has_a_hint_that_is_read(text, hint):
    with pytest.raises(UnitError) as refused:
        QueueLimit.parse(text)
    assert refused.value.hint == hint
    if hint:
        assert QueueLimit.parse(hint.split("'")[1]).value > 0


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("run", "--dry-run", "jumbo-ipv6", "--set", "network.queue=100"), "100 packets"),
        (("run", "jumbo-ipv6", "--budget", "1 minute"), "1 min"),
        (("measure", "127.0.0.1", "--time", "1h"), "60 min"),
        (("measure", "127.0.0.1", "--rate", "100 Mbps"), "100 Mbit/s"),
        (("path", "127.0.0.1", "--rate", "10G"), "10 Gbit/s"),
    ],
)
def test_options_have_the_hint(nettrial, command, hint):
    done = nettrial(*command)
    assert done.returncode == 2
    assert f"hint: did you mean '{hint}'?" in done.stderr


def test_a_field_with_a_rate_has_the_hint(nettrial):
    done = nettrial("run", "--dry-run", "jumbo-ipv6", "--set", "network.rate=100M")
    assert done.returncode == 2
    assert "hint: did you mean '100 Mbit/s'?" in done.stderr
