"""`python -m analysis VERB [RUN ...]`: run directories again, without a broker.

Spark and statsmodels are imported when a verb needs them, so that `--help` and a usage error are instant.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.errors import DataError
from analysis.results import VerdictKind, audit_json, fit_json, summary_json, worst

#: Text, JSON object and verdict of a verb's results.
Answer = tuple[str, dict[str, Any], VerdictKind]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 computed, whatever the verdict; 1 with --strict and a verdict other than `valid`; 2 refused."""
    options = _parser().parse_args(arguments)
    try:
        text, record, kind = _VERBS[options.verb](options)
    except DataError as error:
        print(f"analysis: {error}", file=sys.stderr)
        return 2
    print(json.dumps(record, indent=2, allow_nan=False) if options.json else text)
    return int(options.strict and kind != VerdictKind.VALID)


def _summary(options: argparse.Namespace) -> Answer:
    from analysis import tables, verdict

    results = verdict.analysed(options.run, master=options.spark_master, partial=options.partial)
    return tables.summary(results), summary_json(results), worst(result.verdict for result in results)


def _audit(options: argparse.Namespace) -> Answer:
    from analysis import tables, verdict

    results = verdict.audited(options.run, master=options.spark_master, partial=options.partial)
    return tables.audit(results), audit_json(results), worst(result.verdict for result in results)


def _fit(options: argparse.Namespace) -> Answer:
    from analysis import tables, verdict

    results = verdict.fitted(options.run, master=options.spark_master, partial=options.partial)
    return tables.model(results), fit_json(results), worst(result.verdict for result in results)


_VERBS = {"summary": _summary, "audit": _audit, "fit": _fit}

_HELP = {
    "summary": "cells, audit, model, findings and verdict",
    "audit": "what became of every message, per cell",
    "fit": "the model B = t_rcv + n_fltr t_fltr + r t_tx with its intervals",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis", description="What run directories say, and whether to believe it."
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, text in _HELP.items():
        options = verbs.add_parser(verb, help=text, description=text)
        options.add_argument(
            "run",
            nargs="*",
            type=Path,
            metavar="RUN",
            help="run directory, results/latest by default; several are read side by side, and never averaged or fitted together",
        )
        options.add_argument("--json", action="store_true", help="print one JSON object")
        options.add_argument("--strict", action="store_true", help="exit with 1 when a verdict is not `valid`")
        options.add_argument(
            "--partial", action="store_true", help="read the complete cells of a run that did not end well"
        )
        options.add_argument(
            "--spark-master", default="local[*]", metavar="URL", help="where Spark runs (default: %(default)s)"
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
