"""`python -m analysis VERB [RUN ...]`: answers from existing run directories, without a broker.

Nothing is imported before a verb needs it, so that `--help`, usage errors and answers from a stored analysis are
instant.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from analysis.errors import DataError
from analysis.results import code_of
from analysis.throughput.json_output import audit_json, fit_json, summary_json
from analysis.throughput.results import RunResult
from workloads import command_line
from workloads.exit_codes import ExitCode, first_of
from workloads.schema import RunKind


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: OK computed, with any verdict; with --strict that of the verdict; REFUSED."""
    options = _parser().parse_args(arguments)
    try:
        text, code = _answer(options)
    except DataError as error:
        sys.stderr.write(f"analysis: {error}\n")
        return ExitCode.REFUSED
    sys.stdout.write(text + "\n")
    return code if options.strict else ExitCode.OK


def _answer(options: argparse.Namespace) -> tuple[str, ExitCode]:
    """The text or JSON object that was asked for, and the exit code of the verdicts."""
    from analysis import run_description  # noqa: PLC0415 - records of runs: not for --help and usage errors
    from analysis.gate.asked import is_gate  # noqa: PLC0415

    if options.verb == "history":
        return _history(options.file, as_json=options.json), ExitCode.OK
    kind = run_description.kind_of(options.run)
    verbs = _OF_KIND[kind](options)
    if options.verb not in (*verbs, "gate"):
        raise DataError(
            f"{options.verb}: a run of {kind} has no model of broker times; its verbs are {', '.join(verbs)}"
        )
    if options.verb == "gate" or all(is_gate(manifest) for manifest, _ in run_description.manifests(options.run)):
        verbs = {**verbs, **_gate(options)}
    elif options.verb == "report" and options.history is not None:
        raise DataError("--history is of the gates of a broker; name the run of a gate")
    analyse, text, record = verbs[options.verb]
    results = analyse(options.run, master=options.spark_master, partial=options.partial, recompute=options.recompute)
    answer = json.dumps(record(results), indent=2, allow_nan=False) if options.json else text(results)
    return answer, first_of(map(_code, results))


def _code(result: Any) -> ExitCode:
    """Of a result of any verb."""
    from analysis.gate.verdict import EXIT_CODES, GateVerdict  # noqa: PLC0415 - numpy and scipy

    if isinstance(result.verdict, GateVerdict):
        return EXIT_CODES[result.verdict]
    return code_of(result.verdict, audit_failed=getattr(result, "audit_failed", False))


#: By verb: the functions that analyse the runs, format the results as text, and as a JSON object.
Verbs: TypeAlias = Mapping[str, tuple[Callable[..., Any], Callable[[Any], str], Callable[[Any], dict[str, Any]]]]

#: What a report is written as: the files by their kind, and its JSON object.
Written: TypeAlias = tuple[Mapping[str, Iterable[Path]], dict[str, Any]]


def _throughput(options: argparse.Namespace) -> Verbs:
    from analysis.throughput import answers, console, predict  # noqa: PLC0415

    def predicted(paths: Sequence[Path], **reading: Any) -> tuple[predict.RunPredictions, ...]:
        question = predict.Question(options.n_fltr, options.replication, options.rate, options.extrapolate)
        return predict.predictions(answers.fitted(paths, **reading), question)

    def written(results: Sequence[RunResult]) -> Written:
        from analysis.report import throughput_page  # noqa: PLC0415 - matplotlib

        path = throughput_page.write(results, options.output)
        return {"report": [path]}, throughput_page.record(results, path)

    return {
        "summary": (answers.analysed, console.summary, summary_json),
        "audit": (answers.audited, console.audit, audit_json),
        "fit": (answers.fitted, console.model, fit_json),
        "predict": (predicted, predict.text, predict.predict_json),
        "report": (answers.analysed, *_report(written)),
    }


def _workload(options: argparse.Namespace) -> Verbs:
    from analysis.scenario import answers, console, disclosure, json_output  # noqa: PLC0415

    def written(results: Sequence[Any]) -> Written:
        from analysis.report import scenario_page  # noqa: PLC0415 - matplotlib

        pages, disclosures = scenario_page.write(results, options.output), disclosure.write(results)
        record = scenario_page.record(results, pages) | {"disclosures": list(map(str, disclosures))}
        return {"report": pages, "disclosure": disclosures}, record

    return {
        "summary": (answers.analysed, console.summary, json_output.summary_json),
        "audit": (answers.analysed, console.audit, json_output.audit_json),
        "report": (answers.analysed, *_report(written)),
    }


def _faults(options: argparse.Namespace) -> Verbs:
    from analysis.faults import console, json_output, pipeline  # noqa: PLC0415

    def written(results: Sequence[Any]) -> Written:
        from analysis.report import faults_page  # noqa: PLC0415 - matplotlib

        path = faults_page.write(results, options.output)
        return {"report": [path]}, {"reports": [str(path)]}

    return {
        "summary": (pipeline.analysed, console.summary, json_output.summary_json),
        "audit": (pipeline.analysed, console.summary, json_output.summary_json),
        "report": (pipeline.analysed, *_report(written)),
    }


#: The verbs of each kind of run.
_OF_KIND = {RunKind.THROUGHPUT: _throughput, RunKind.WORKLOAD: _workload, RunKind.FAULTS: _faults}


def _gate(options: argparse.Namespace) -> Verbs:
    """The verbs of a gate that differ from those of its kind of run."""
    from analysis.gate import answers, console, history, results  # noqa: PLC0415
    from analysis.run_description import manifests  # noqa: PLC0415

    def written(gates: Sequence[Any]) -> Written:
        from analysis.report import gate_page  # noqa: PLC0415 - matplotlib

        if options.output is not None and len(gates) > 1:
            raise DataError("--output: each gate has a report of its own; name one run")
        found = zip(gates, manifests([Path(gate.path) for gate in gates]), strict=True)
        past = history.read(options.history) if options.history is not None else ()
        paths = [gate_page.write(gate, manifest, past, options.output) for gate, (manifest, _) in found]
        return {"report": paths}, {"reports": list(map(str, paths))}

    markdown = options.verb == "gate" and options.markdown
    return {
        "gate": (answers.judged, console.markdown if markdown else console.text, results.gate_json),
        "report": (answers.judged, *_report(written)),
    }


def _history(file: Path, *, as_json: bool) -> str:
    """The tables of a history of gates as text or as a JSON object; writes its page."""
    from analysis.gate import history, series  # noqa: PLC0415
    from analysis.report import series_page  # noqa: PLC0415 - matplotlib
    from analysis.table import render_text  # noqa: PLC0415

    compared = series.series(history.read(file))
    path = series_page.write(file, compared)
    if as_json:
        return json.dumps(series.series_json(compared) | {"report": str(path)}, indent=2, allow_nan=False)
    return "\n\n".join([*map(render_text, series.tables(compared)), f"report: {path}"])


def _report(
    written: Callable[[Any], Written],
) -> tuple[Callable[[Any], str], Callable[[Any], dict[str, Any]]]:
    """The functions that write a report and return its paths: as text, and as a JSON object."""

    def text(results: Any) -> str:
        files, _ = written(results)
        return "\n".join(f"{kind}: {path}" for kind, paths in files.items() for path in paths)

    return text, lambda results: written(results)[1]


#: What each verb does.
VERBS = {
    "summary": "all tables: cells, rounds, audit, models, claims, host, findings and verdict",
    "audit": "the delivery audit: every message, per cell",
    "fit": "the model B = t_rcv + n_fltr t_fltr + r t_tx with its intervals",
    "predict": "predictions of the fitted model for filters, copies and a rate that were not measured",
    "gate": "the verdict of a regression gate: is the broker slower than its baseline?",
    "history": "the gates of a history file: what each changed, and all since the first baseline",
    "report": "one HTML file with everything: the result in short, findings, tables and figures",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=command_line.program("python -m analysis"),
        description="Results of run directories, and a verdict on their validity.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, text in VERBS.items():
        options = verbs.add_parser(verb, help=text, description=text)
        if verb == "history":
            options.add_argument("file", type=Path, metavar="FILE", help="to which gates append, by --history")
            options.add_argument("--json", action="store_true", help="print one JSON object")
            options.set_defaults(strict=False)
            continue
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
            help="when a verdict is not `valid`, of a gate not `pass` or `faster`: exit with 1 where an audit failed "
            "or a regression was shown, else with 10",
        )
        options.add_argument(
            "--partial", action="store_true", help="read the complete cells of a run that did not finish"
        )
        options.add_argument(
            "--recompute", action="store_true", help="compute anew, and use no analysis that is stored with the run"
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
