"""`python -m analysis VERB [RUN ...]`: analyses existing run directories, without a broker.

Spark and statsmodels are imported only when a verb needs them, so that `--help` and usage errors are instant.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from analysis import archive
from analysis.errors import DataError
from analysis.results import RunResult, audit_json, fit_json, summary_json
from workloads.schema import RunKind
from workloads.status import VerdictKind


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 computed, with any verdict; 1 with --strict if a verdict is not `valid`, of a gate not
    `pass` or `faster`; 2 refused."""
    options = _parser().parse_args(arguments)
    try:
        text, accepted = _answer(options)
    except DataError as error:
        sys.stderr.write(f"analysis: {error}\n")
        return 2
    sys.stdout.write(text + "\n")
    return int(options.strict and not accepted)


def _answer(options: argparse.Namespace) -> tuple[str, bool]:
    """The text or JSON object that was asked for, and whether --strict accepts every verdict."""
    from analysis import run_directory  # noqa: PLC0415 - Spark and statsmodels: not for --help and usage errors
    from analysis.gate.pipeline import is_gate  # noqa: PLC0415
    from analysis.gate.results import PASSING  # noqa: PLC0415

    kind = run_directory.kind_of(options.run)
    verbs = (_throughput if kind is RunKind.THROUGHPUT else _workload)(options)
    if options.verb not in (*verbs, "gate"):
        raise DataError(
            f"{options.verb}: a run of a business workload has no model of broker times; its verbs are "
            f"{', '.join(verbs)}"
        )
    if options.verb == "gate" or all(is_gate(manifest) for manifest, _ in run_directory.manifests(options.run)):
        verbs = {**verbs, **_gate(options)}
    elif options.verb == "report" and options.history is not None:
        raise DataError("--history is of the gates of a broker; name the run of a gate")
    analyse, text, record = verbs[options.verb]
    results = analyse(options.run, master=options.spark_master, partial=options.partial)
    answer = json.dumps(record(results), indent=2, allow_nan=False) if options.json else text(results)
    return answer, all(result.verdict in {VerdictKind.VALID, *PASSING} for result in results)


#: By verb: the functions that analyse the runs, format the results as text, and as a JSON object.
Verbs: TypeAlias = Mapping[str, tuple[Callable[..., Any], Callable[[Any], str], Callable[[Any], dict[str, Any]]]]


def _throughput(options: argparse.Namespace) -> Verbs:
    from analysis.throughput import console, pipeline, predict  # noqa: PLC0415

    def predicted(paths: Sequence[Path], **reading: Any) -> tuple[predict.RunPredictions, ...]:
        question = predict.Question(options.n_fltr, options.replication, options.rate, options.extrapolate)
        return predict.predictions(pipeline.fitted(paths, **reading), question)

    return {
        "summary": (pipeline.analysed, console.summary, summary_json),
        "audit": (pipeline.audited, console.audit, audit_json),
        "fit": (pipeline.fitted, console.model, fit_json),
        "predict": (predicted, predict.text, predict.predict_json),
        "report": (
            pipeline.analysed,
            lambda results: _written(results, options)[0],
            lambda results: _written(results, options)[1],
        ),
    }


def _workload(options: argparse.Namespace) -> Verbs:
    from analysis.scenario import console, json_output, pipeline  # noqa: PLC0415

    return {
        "summary": (pipeline.analysed, console.summary, json_output.summary_json),
        "audit": (pipeline.analysed, console.audit, json_output.audit_json),
        "report": (
            pipeline.analysed,
            lambda results: _pages(results, options)[0],
            lambda results: _pages(results, options)[1],
        ),
    }


def _gate(options: argparse.Namespace) -> Verbs:
    """The verbs of a gate that differ from those of its kind of run."""
    from analysis.gate import console, pipeline, results  # noqa: PLC0415

    return {
        "gate": (
            pipeline.judged,
            console.markdown if options.verb == "gate" and options.markdown else console.text,
            results.gate_json,
        ),
        "report": (
            pipeline.judged,
            lambda gates: _gate_pages(gates, options)[0],
            lambda gates: _gate_pages(gates, options)[1],
        ),
    }


def _gate_pages(results: Sequence[Any], options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Writes the report of each gate; returns the paths as text and as a JSON object. Raises DataError."""
    from analysis.gate import history  # noqa: PLC0415
    from analysis.report import gate_page  # noqa: PLC0415 - matplotlib
    from analysis.run_directory import manifests  # noqa: PLC0415

    if options.output is not None and len(results) > 1:
        raise DataError("--output: each gate has a report of its own; name one run")
    found = zip(results, manifests([Path(result.path) for result in results]), strict=True)
    past = history.read(options.history) if options.history is not None else ()
    paths = [gate_page.write(result, manifest, past, options.output) for result, (manifest, _) in found]
    text = "\n".join(f"report: {path}" for path in paths)
    return _with_archives(text, {"reports": list(map(str, paths))}, results, options)


def _pages(results: Sequence[Any], options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Writes the report of a workload and its disclosure; returns their paths as text and as a JSON object."""
    from analysis.report import scenario_page  # noqa: PLC0415 - matplotlib
    from analysis.scenario import disclosure  # noqa: PLC0415

    pages, disclosures = scenario_page.write(results, options.output), disclosure.write(results)
    lines = [f"report: {path}" for path in pages] + [f"disclosure: {path}" for path in disclosures]
    record = scenario_page.record(results, pages) | {"disclosures": list(map(str, disclosures))}
    return _with_archives("\n".join(lines), record, results, options)


def _written(results: Sequence[RunResult], options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Writes the report; returns its path as text and as a JSON object."""
    from analysis.report import throughput_page  # noqa: PLC0415 - matplotlib

    path = throughput_page.write(results, options.output)
    return _with_archives(f"report: {path}", throughput_page.record(results, path), results, options)


def _with_archives(
    text: str, record: dict[str, Any], results: Sequence[Any], options: argparse.Namespace
) -> tuple[str, dict[str, Any]]:
    """Packs each run directory where --archive asks for it; called after the report was written, to include it."""
    if not options.archive:
        return text, record
    paths = [archive.pack(path) for path in dict.fromkeys(Path(result.path) for result in results)]
    return "\n".join([text, *(f"archive: {path}" for path in paths)]), record | {"archives": list(map(str, paths))}


_HELP = {
    "summary": "all tables: cells, rounds, audit, models, claims, host, findings and verdict",
    "audit": "the delivery audit: every message, per cell",
    "fit": "the model B = t_rcv + n_fltr t_fltr + r t_tx with its intervals",
    "predict": "predictions of the fitted model for filters, copies and a rate that were not measured",
    "gate": "the verdict of a regression gate: is the broker slower than its baseline?",
    "report": "one HTML file with everything: the result at a glance, findings, tables and figures",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis", description="Results of run directories, and a verdict on their validity."
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, text in _HELP.items():
        options = verbs.add_parser(verb, help=text, description=text)
        if verb == "predict":
            _ask(options)
        options.add_argument(
            "run",
            nargs="*",
            type=Path,
            metavar="RUN",
            help="run directory, by default results/latest; several are analysed separately, never pooled",
        )
        form = options.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print one JSON object")
        if verb == "gate":
            form.add_argument("--markdown", action="store_true", help="print Markdown, for a CI system")
        options.add_argument(
            "--strict",
            action="store_true",
            help="exit with 1 when a verdict is not `valid`, of a gate not `pass` or `faster`",
        )
        options.add_argument(
            "--partial", action="store_true", help="read the complete cells of a run that did not finish"
        )
        options.add_argument(
            "--spark-master", default="local[*]", metavar="URL", help="where Spark runs (default: %(default)s)"
        )
    verbs.choices["report"].add_argument(
        "--output", type=Path, metavar="FILE", help="the HTML file, by default report.html in the (first) run directory"
    )
    verbs.choices["report"].add_argument(
        "--history", type=Path, metavar="FILE", help="of a gate: draw the ratios of this file, to which gates append"
    )
    verbs.choices["report"].add_argument(
        "--archive", action="store_true", help="pack each run directory, report included, into RUN.tar.gz next to it"
    )
    return parser


def _ask(options: argparse.ArgumentParser) -> None:
    options.add_argument(
        "--n-fltr",
        type=_amount,
        required=True,
        metavar="N",
        help="filters installed in total, including those that match",
    )
    options.add_argument(
        "--replication", type=_amount, required=True, metavar="R", help="copies delivered of every message"
    )
    options.add_argument(
        "--rate", type=_amount, metavar="X", help="messages/s that arrive, for utilisation and mean waiting time"
    )
    options.add_argument("--extrapolate", action="store_true", help="predict far outside the measured cells as well")


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number >= 0")
    return value


if __name__ == "__main__":
    sys.exit(main())
