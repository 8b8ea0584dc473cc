"""`python -m analysis`: exit codes, messages and JSON as scripts rely on them."""

import json
import os
import subprocess
import sys

import pytest

from analysis.__main__ import main
from tests.conftest import ROOT


@pytest.mark.usefixtures("analysed_once", "undrawn")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("summary valid --strict", 0),
        ("summary invalid --strict --json", 1),
        ("audit invalid --json", 0),
        ("audit invalid --strict", 1),
        ("fit invalid --json", 0),
        ("summary killed", 2),
        ("summary killed --partial --strict", 10),
        ("audit killed --partial --json", 0),
        ("fit nowhere --json", 2),
        ("audit nowhere --strict", 2),
        ("report valid --strict", 0),
        ("report invalid --strict --json", 1),
        ("report killed", 2),
        ("report valid --output nowhere/report.html", 2),
    ],
)
def test_exit_codes(runs, monkeypatch, capsys, arguments, code):
    """0 where it could compute; with --strict 1 after a failed audit, 10 with another doubt; 2 where it refuses."""
    monkeypatch.chdir(runs)

    assert main(arguments.split()) == code

    out, err = capsys.readouterr()
    if code == 2:
        assert out == ""
        assert err.splitlines()[-1].startswith("analysis: ")
        assert "Traceback" not in err
    elif "--json" in arguments:
        assert json.loads(out)["schema"] == 2
    else:
        assert "verdict: " in out or out == f"report: {runs / 'valid' / 'report.html'}\n"


@pytest.mark.parametrize("arguments", [[], ["guess"], ["summary", "--colour"]])
def test_usage_errors_are_refusals(arguments, capsys):
    """argparse's own refusals have the exit code of every refusal."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)

    assert exit_.value.code == 2
    assert "usage:" in capsys.readouterr().err


def python(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_importing_costs_nothing():
    """The package, the pytest plugin and the command import neither Spark nor statsmodels nor pandas nor matplotlib."""
    heavy = "{'pyspark', 'pandas', 'statsmodels', 'scipy', 'pyarrow', 'matplotlib'}"
    code = f"import sys, analysis, analysis.plugin, analysis.__main__; print(sorted({heavy} & set(sys.modules)))"

    assert python("-c", code).stdout.strip() == "[]"


def test_without_java_the_refusal_says_so(runs, tmp_path):
    """No JVM is a refusal that names Java, not a traceback."""
    done = python("-m", "analysis", "audit", "--recompute", str(runs / "valid"), JAVA_HOME=str(tmp_path))

    assert done.returncode == 2
    assert "Java 17 or newer" in done.stderr
    assert "Traceback" not in done.stderr
