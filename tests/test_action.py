"""The action for GitHub and the example workflows: every shell step runs, and none is built from what a user says."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess

import pytest

from fixtures.brokers import registry as brokers
from fixtures.host import cpus
from tests.conftest import ROOT
from tests.support.plain_yaml import plain_yaml, steps_of
from tests.support.sessions import environment
from tests.support.throughput_runs import whole_audit
from tests.test_docs import FENCED, TEXTS
from workloads.exit_codes import ExitCode
from workloads.gate import MARGIN, GateRole, Policy

ACTION = plain_yaml((ROOT / "action.yml").read_text(encoding="utf-8"))
#: The workflows of docs/gate.md, by name.
WORKFLOWS = {
    workflow["name"]: workflow
    for kind, block in FENCED.findall(TEXTS["docs/gate.md"])
    if kind == "yaml" and "jobs:" in block
    for workflow in [plain_yaml(block)]
}
SHELL_STEPS = {
    **{f"action, {step['id']}": step for step in steps_of(ACTION["runs"]["steps"])},
    **{
        f"{name}, {step['name']}": step
        for name, workflow in WORKFLOWS.items()
        for job in workflow["jobs"].values()
        for step in steps_of(job["steps"])
    },
}


@pytest.mark.parametrize("name", SHELL_STEPS)
def test_no_shell_text_is_built_from_inputs(name):
    """Whatever comes from outside reaches a shell by its environment, where it is a word and no command."""
    step = SHELL_STEPS[name]

    assert "${{" not in step["run"]
    assert [line for line in step["run"].splitlines() if re.search(r"\beval\b|\bsh -c\b", line)] == []
    subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True, timeout=60)


def test_the_inputs_are_those_of_the_gate():
    """All are used, and the defaults are the suite's."""
    inputs = ACTION["inputs"]
    given = " ".join(value for step in SHELL_STEPS.values() for value in step.get("env", {}).values())
    used = set(re.findall(r"inputs\.(\w+)", given))

    assert set(inputs) == {"baseline", "broker", "select", "margin", "policy"} == used
    assert inputs["margin"]["default"] == f"{MARGIN:.0%}"
    assert all(policy in inputs["policy"]["description"] for policy in Policy)


def test_who_measures_has_no_secret():
    """Measuring runs what a pull request brings: it may read, and only that; who writes runs nothing of it."""
    measuring, writing = WORKFLOWS["broker gate"], WORKFLOWS["broker gate comment"]

    assert measuring["permissions"] == {"contents": "read"}
    assert "secrets." not in json.dumps(measuring)
    assert "workflow_run" in writing["on"]
    assert "checkout" not in json.dumps(writing)


# Steps


class Runner:
    """What a runner of GitHub gives a step: files, folders, and the outputs of the steps before."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("workspace", "bin", "files"):
            (folder / name).mkdir()
        self.outputs = {}

    def program(self, name, text):
        """A program that steps find before all others."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def run(self, step, **env):
        output, summary = (self.folder / "files" / name for name in ("output", "summary"))
        output.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / "workspace",
            env=environment(
                PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}",
                CI="true",
                GITHUB_WORKSPACE=str(self.folder / "workspace"),
                GITHUB_OUTPUT=str(output),
                GITHUB_STEP_SUMMARY=str(summary),
                RUNNER_TEMP=str(self.folder),
                **{"GITHUB_ACTION_PATH": str(ROOT)} | env,
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=900,
        )
        self.outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        self.summary = summary.read_text() if summary.exists() else ""
        return done


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path)


def test_keys_of_the_caches(runner):
    """Each is of what the cache depends on, and of nothing that a key cannot have."""
    step = SHELL_STEPS["action, keys"]
    keys = {}
    for broker in ("activemq:6.1.7", "artemis $(touch hacked)"):
        assert runner.run(step, BASELINE="activemq:5.18.3", BROKER=broker).returncode == 0
        keys[broker] = runner.outputs

    first, second = keys.values()
    assert all(re.fullmatch(r"[0-9a-f]{16}", key) for key in (*first.values(), *second.values()))
    assert [name for name in first if first[name] != second[name]] == ["brokers"]
    assert list((runner.folder / "workspace").iterdir()) == []


def test_what_the_action_installs(runner):
    """What `make` builds for the checkout of the action."""
    runner.program("make", 'printf "%s\\n" "$@"')

    assert runner.run(SHELL_STEPS["action, install"]).stdout.splitlines() == ["-C", str(ROOT), ".venv"]


@pytest.mark.parametrize("broker", ["artemis:2.44.0", ""])
def test_what_the_gate_step_asks(runner, broker):
    """What a user says reaches pytest as words; without a broker the baseline is calibrated. Its exit code is the
    step's."""
    program = runner.folder / ".venv" / "bin" / "pytest"
    program.parent.mkdir(parents=True)
    program.symlink_to(runner.program("pytest", 'printf "%s\n" "$@"; exit 3'))
    given = {"BASELINE": "$(touch hacked)", "BROKER": broker, "SELECT": "", "MARGIN": "10%", "POLICY": "report"}
    done = runner.run(SHELL_STEPS["action, gate"], **given, GITHUB_ACTION_PATH=str(runner.folder))
    words = done.stdout.splitlines()

    assert done.returncode == 3
    assert words[:2] == ["microbench", "-kreplication"]
    assert {"--baseline=$(touch hacked)", "--margin=10%", "--policy=report"} < set(words)
    assert words[3] == (f"--broker={broker}" if broker else "--calibrate")


#: A gate of 20 s: short slices, one look.
SHORT = "--slice-seconds 0.05 --layouts 1 --rounds 2 --warmup-seconds 0 --pairs 5 -p tests.support.quick_session"


@pytest.mark.brokers
def test_the_gate_of_the_action(runner, tmp_path):
    """A broker that loses a copy now and then, against one that runs already: whatever the ratios are, the gate fails
    by `correctness`, and the cell's item names the role and the numbers. The outputs and the page of the step say so,
    and what is written is kept."""
    step = SHELL_STEPS["action, gate"]
    running = brokers.start(brokers.parse("reference"), tmp_path, cpus.available_cpus()[-1:])
    baseline = f"stomp://bench:secret@127.0.0.1:{running.endpoint.port}"
    given = {"BASELINE": baseline, "BROKER": "reference:lose=97", "SELECT": "copies and r001 or copies and r010"}
    try:
        done = runner.run(step, **given, MARGIN="10%", POLICY="blame", PYTEST_ADDOPTS=SHORT, PYTHONPATH=str(ROOT))
    finally:
        running.stop()
    results = runner.folder / "workspace" / "brokerbench-results"

    assert done.returncode == ExitCode.SHOWN, done.stdout
    assert "FAILED gate[correctness] - failed: messages were lost" in done.stdout
    assert "gate[all cells] ." in done.stdout
    assert re.search(r"-r010 on candidate, start 1: of \d+ copies [1-9]\d* lost, 0 duplicated", done.stdout), (
        done.stdout
    )
    assert "verdict: failed - messages were lost, duplicated, reordered or misdelivered" in done.stdout
    assert re.search(r"\d pairs of layouts of these processes", " ".join(done.stdout.split()))
    assert runner.outputs["verdict"] == "failed"
    assert runner.summary.startswith("### Gate: reference:lose=97 against stomp://")
    for name in ("summary", "report"):
        assert (ROOT / runner.outputs[name]).is_relative_to(results.resolve())
        assert (ROOT / runner.outputs[name]).stat().st_size
    assert (results / "gate.xml").stat().st_size
    (line,) = (results / "gates.jsonl").read_text().splitlines()
    assert json.loads(line)["verdict"] == "failed"
    for role, lost in ((GateRole.CANDIDATE, True), (GateRole.BASELINE, False)):
        assert (whole_audit((results / "latest").resolve(), role.value)["lost"] > 0) == lost


#: `gh api`: keeps its words, and knows a pull request and the comments that it is told of.
GH = """
printf '%s\\n' "$*" >> "$CALLS"
case "$*" in
*pulls*) echo 17 ;;
*'issues/17/comments --jq'*|*--paginate*) echo "$COMMENTS" ;;
esac
"""


@pytest.mark.parametrize(
    ("comments", "written"),
    [("", "POST repos/o/r/issues/17/comments"), ("4711", "PATCH repos/o/r/issues/comments/4711")],
)
def test_one_comment_is_written_and_updated(runner, comments, written):
    """The first time it is added, from then on the same is changed. What it says is a file, and no word of a shell."""
    (step,) = (step for name, step in SHELL_STEPS.items() if name.startswith("broker gate comment, "))
    calls, summary = runner.folder / "calls", runner.folder / "workspace" / "gate" / "run" / "summary.md"
    summary.parent.mkdir(parents=True)
    summary.write_text("### Gate: $(touch hacked)\n")
    runner.program("gh", GH)
    done = runner.run(step, GH_TOKEN="t", REPOSITORY="o/r", HEAD="fork:branch;x", CALLS=str(calls), COMMENTS=comments)

    assert done.returncode == 0, done.stdout
    assert written in calls.read_text().splitlines()[-1]
    assert "body=@" in calls.read_text().splitlines()[-1]
    assert (runner.folder / "comment.md").read_text() == "<!-- brokerbench -->\n### Gate: $(touch hacked)\n"
    assert not list(runner.folder.rglob("hacked"))
