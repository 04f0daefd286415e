"""`nettrial predict`: predicts results at MTUs that were not run, by a model of those that were."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from nettrial.analysis.model import Model, models
from nettrial.analysis.mtu_fits import ETHERNET_BYTES, Fit
from nettrial.analysis.predictions import Prediction, predict
from nettrial.cli import READING
from nettrial.cli.console import print_table
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import calibrate as calibrate_documents
from nettrial.cli.documents import predict as predict_documents
from nettrial.design.trial_order import in_words
from nettrial.errors import BadInput
from nettrial.report import numbers
from nettrial.store import Run
from nettrial.units import SIZE, UnitError

SMALLEST, LARGEST = 576, 65_535
"""The range of MTUs: the size that every IPv4 host accepts (RFC 1122 section 3.3.2), and the largest packet
(RFC 791)."""
DIGITS = 4
"""The number of digits printed."""


def show(directory: Path, mtus: str, as_json: bool = False) -> None:
    """Prints the model of a run and its predictions for these MTUs; raises BadInput."""
    sizes = [_size(text.strip()) for text in mtus.split(",")]
    run = Run.open(directory)
    fitted = models(run)
    if as_json:
        documents.show(_document(run, fitted, sizes))
        return
    print(f"Model of the MTU, from {numbers.counted(run.finished(), 'trial')} of {directory}")
    for model in fitted:
        if model.others:
            print(f"\n{in_words(model.others)}")
        print(
            f"Headers: {model.header_bytes} B in each packet, and {ETHERNET_BYTES} B around it on the wire."
        )
        rows = [_fit(name, what, fit) for name, what, fit in _fits(model)]
        print_table(["response", "limited by", "fitted", "error at a held-out level"], rows)
        for name, reason in model.absent.items():
            print(f"No model for {name}: {reason}")
        print()
        predictions = [each for size in sizes for each in predict(run, model, size)]
        print_table(
            ["MTU", "response", "predicted", "interval", "unit", ""],
            [_row(each) for each in predictions if each.response not in model.absent],
        )
    print(
        "\nEach interval is the 95% confidence interval of the mean of a treatment with that MTU, provided "
        "that the model holds there. It is based on the number of levels, not of trials: with three levels "
        "it is wide."
    )


def _document(run: Run, fitted: Sequence[Model], sizes: Sequence[int]) -> predict_documents.PredictDocument:
    return predict_documents.PredictDocument(
        run=str(run.directory),
        models=[
            predict_documents.MtuModel(
                others=model.others,
                header_bytes=model.header_bytes,
                rate_mbps=model.rate_mbps,
                fits=[
                    predict_documents.ModelFit(
                        response=name,
                        bound_by=bound,
                        fitted=fit.words(),
                        errors_held_out_percent={f"{mtu:.0f}": error for mtu, error in fit.errors.items()},
                    )
                    for name, bound, fit in _fits(model)
                ],
                absent=model.absent,
            )
            for model in fitted
        ],
        predictions=[
            predict_documents.Predicted(
                others=each.others,
                mtu_bytes=each.mtu_bytes,
                response=each.response,
                unit=each.unit,
                value=each.value,
                interval=documents.bounds(each.interval),
                notes=list(each.notes),
            )
            for model in fitted
            for size in sizes
            for each in predict(run, model, size)
        ],
    )


def _size(text: str) -> int:
    expected = f"{SMALLEST} to {LARGEST} bytes, separated by commas, such as 3000,6000"
    try:
        size = int(text) if text.isdecimal() else SIZE.parse(text)
    except UnitError:
        raise BadInput(READING, "--mtu", text or "empty", expected) from None
    if not SMALLEST <= size <= LARGEST:
        raise BadInput(READING, "--mtu", text, expected)
    return size


def _fits(model: Model) -> list[tuple[str, calibrate_documents.BoundBy, Fit]]:
    fits: list[tuple[str, calibrate_documents.BoundBy, Fit]] = [
        (name, "link", fit) for name, fit in model.wires.items()
    ]
    fits += [(name, "host", fit) for name, fit in model.transfers.items()]
    return fits + [(name, "none", fit) for name, fit in model.hosts.items()]


def _fit(name: str, what: str, fit: Fit) -> list[str]:
    errors = ", ".join(f"{mtu:.0f} B {numbers.signed(error, 1)}%" for mtu, error in fit.errors.items())
    return [name, "" if what == "none" else what, fit.words(), errors]


def _row(each: Prediction) -> list[str]:
    value = "absent" if each.value is None else _digits(each.value)
    interval = ""
    if each.interval is not None:
        low, high = (_digits(bound) for bound in (each.interval.low, each.interval.high))
        interval = f"[{low}, {high}]"
    return [str(each.mtu_bytes), each.response, value, interval, each.unit, "; ".join(each.notes)]


def _digits(value: float) -> str:
    return numbers.fixed(value, max(0, DIGITS - 1 - math.floor(math.log10(value))) if value > 0 else 0)
