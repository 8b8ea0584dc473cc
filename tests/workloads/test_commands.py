"""`python -m workloads.<name>`: what it prints of a model without running anything, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import pytest

from tests.conftest import ROOT
from workloads.jms2009ps.configuration import NONDURABLE
from workloads.registry import WORKLOADS
from workloads.supply_chain.freeform import EXAMPLE

BROADCAST = str(ROOT.joinpath("workloads", "supply_chain", EXAMPLE))


def run(name: str, *words: str) -> int:
    return int(import_module(f"workloads.{name}.__main__").main(words))


def printed(capsys, name, *words):
    """What the command prints, as JSON."""
    assert run(name, *words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_a_module_runs_as_a_command():
    """The command of the README prints one JSON object, and nothing beside it."""
    command = [sys.executable, "-m", "workloads.specjms2007", "--topology", "vertical", "--base", "5", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    record = json.loads(done.stdout)

    assert done.stderr == ""
    assert (record["queues"], record["topics"], record["topic_subscriptions"]) == (56, 103, 280)  # Table 1, section 3.3


#: Words of a command, and lines that its text has, as words.
TEXTS = {
    "specjms2007 --topology vertical --base 5": [
        "56 queues, 103 topics with 280 subscriptions; 91 event handlers and 35 drivers on 126 connections",
        "a publish/subscribe, not persistent 14.19",
        "5 statInfoSM supermarket",
        "SM1 and 9 alike",
    ],
    "specjms2007 --topology vertical --base 1:9:4": ["vertical: received, by BASE"],
    f"specjms2007 --topology freeform --file {BROADCAST} --base 4": ["freeform, BASE 4: 4 SM, 0 SP, 0 DC, 1 HQ"],
    "jms2009ps --scenario 2 --base 5": [
        "scenario_2, vertical, BASE 5: 10 SM, 5 SP, 2 DC, 1 HQ",
        "filters: 255.28 evaluated/s, 3.5736 per message sent, of which 2.3655 reject it",
        "order true true true false MessageType -",
        "order DC_OrderT TargetLocationID TargetLocationID = 'DC1'",
        "topic DC_OrderT 2 2 3.81",
    ],
    "jms2009ps --scenario 1 --base 10": [
        "topic PF1_CallForOffersT and 49 alike 3 0 0.02",
        "topic PF51_CallForOffersT and 49 alike 2 0 0.02",
    ],
    "logistics --profile as-printed --addressing topic": [
        "subscriptions: 90,556.430 of customers",
        "scans per shipment 1.33 4.00 -66.67%",
    ],
    "logistics --base 1:2:1": ["Figure 3c: received per minute of the model, by BASE_L"],
}


@pytest.mark.parametrize("words", TEXTS)
def test_the_text_shows_the_tables(words, capsys):
    """The disclaimer first, as the rules want it (section 2.2.2), then one row each; nowhere is a SPEC metric ours."""
    name, *options = words.split()
    assert run(name, *options) == 0
    text = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in text.splitlines()]

    assert text.startswith(WORKLOADS[name].disclaimer)
    assert "SPECjms2007@" not in text
    for expected in TEXTS[words]:
        assert any(line.startswith(expected) for line in lines), expected


def test_several_bases_are_rows_of_the_figures(capsys):
    """FIRST:LAST:STEP includes both ends."""
    horizontal = printed(capsys, "specjms2007", "--topology", "horizontal", "--base", "5:15:5")
    logistics = printed(capsys, "logistics", "--profile", "as-printed", "--base", "1:10:3")

    assert list(horizontal) == ["disclaimer", "topology", "figures"]
    assert [row["base"] for row in horizontal["figures"]] == [5, 10, 15]
    assert (
        [row["base"] for row in logistics["figures"]] == [size["base"] for size in logistics["sizes"]] == [1, 4, 7, 10]
    )
    assert logistics["figures"][3]["totals"]["delivered_per_min"] == pytest.approx(50651.094)
    assert logistics["figures"][3]["totals"]["published_per_min"] == pytest.approx(456.9)


def test_json_of_a_configuration(capsys):
    """Values by message; BASE is 1 unless it is given, the topology vertical unless file or option say otherwise."""
    third = printed(capsys, "jms2009ps", "--scenario", "3", "--base", "5")
    own = printed(capsys, "jms2009ps", "--configuration", str(NONDURABLE))

    assert third["filters_per_s"] == pytest.approx(6500.40, abs=0.01)
    assert third["parameters"]["order"] == {
        "transactional": True,
        "persistent": True,
        "durable": True,
        "queue": False,
        "target_destination": "Central",
        "subscription_type": None,
    }
    assert (own["configuration"], own["topology"], own["base"]) == ("nondurable.toml", "vertical", 1)
    assert own["unmatched_durable_per_s"] == 0


def test_json_of_a_size(capsys):
    """One size has its table, totals, rates by the clock, identities and choices, each number with its exact text."""
    record = printed(capsys, "logistics", "--base", "1", "--vehicles", "5", "--compression", "720")

    assert list(record) == [
        *("disclaimer", "profile", "base", "vehicles_per_hub", "compression", "addressing", "customers_per_connection"),
        *("tracking", "scale", "entities", "drivers", "messages_per_shipment", "totals", "wall", "body_bytes"),
        *("identities", "choices"),
    ]
    assert (record["scale"], record["tracking"], record["entities"]["V"]) == ("5/53", "life", 5)
    assert record["drivers"]["ShipmentScan"]["factor_exact"] == "2"
    assert record["wall"]["tracking_connections"] == 71
    assert record["wall"]["connections"] == pytest.approx(1 + 1 + 5 + 71 + 8.384 * 5 / 53)
    assert (record["wall"]["queues"], record["wall"]["topics"]) == (2, 5)
    assert record["wall"]["gap_s"] == 0.5
    assert record["body_bytes"]["environmentDataLH"] == 2912
    assert all(identity["holds"] for identity in record["identities"])


#: Words of a command, the text of its file OWN, and what the refusal says.
REFUSED = [
    ("specjms2007 --topology freeform", None, "--topology freeform needs --file FILE.toml, such as "),
    ("specjms2007 --topology freeform --file OWN", None, "own.toml: cannot be read: "),
    ("specjms2007 --topology vertical --file OWN", None, "--file describes a freeform topology; vertical has none"),
    ("specjms2007 --topology horizontal --base 1000000", None, "connections; expected at most 1048576: choose a lower"),
    (
        "specjms2007 --topology freeform --file OWN",
        "[interaction_6]\nrate = 3\n",
        "own.toml, line 2: [interaction_6]: unknown key 'rate'; expected enabled, rate_per_s, size, messages",
    ),
    ("jms2009ps --configuration OWN", "[all]\nqueues = true", "own.toml, line 2: [all]: unknown key 'queues'"),
    (
        "jms2009ps --configuration OWN --topology horizontal",
        'topology = "vertical"',
        "own.toml, line 1: topology: expected 'horizontal'",
    ),
    ("jms2009ps --configuration OWN", None, "own.toml: cannot be read: "),
    ("logistics --vehicles 54", None, "--vehicles: expected a whole number from 1 to 53, got 54"),
    ("logistics --profile printed", None, "--profile: expected one of corrected, as-printed, got 'printed'"),
]


@pytest.mark.parametrize(("words", "text", "why"), REFUSED)
def test_what_cannot_be_described_is_refused(words, text, why, tmp_path, capsys):
    """A message on standard error, nothing on standard output, exit code 2."""
    file = tmp_path / "own.toml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    name, *options = words.split()

    assert run(name, *(str(file) if option == "OWN" else option for option in options)) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"workloads.{name}: ")
    assert why in err
    assert out == ""


BASES = "expected a whole number from 1 on, or FIRST:LAST:STEP, got"

#: Words that a command does not have, and what argparse says.
MISUSED = [
    *(
        (f"specjms2007 --topology vertical --base={base}", f"{BASES} '{base}'")
        for base in ("-1", "five", "5:1:1", "1:5")
    ),
    *((f"logistics --base={base}", f"{BASES} '{base}'") for base in ("0", "-1", "1:5:0", "1:2:3:4", "")),
    ("logistics --file own.toml", "unrecognized arguments: --file own.toml"),
    ("jms2009ps", "one of the arguments --scenario --configuration is required"),
    ("jms2009ps --scenario 1 --configuration own.toml", "not allowed with argument"),
    ("jms2009ps --scenario 4", "invalid choice"),
    ("jms2009ps --scenario 1 --base 0", "expected a whole number from 1 on, got '0'"),
    ("jms2009ps --scenario 1 --base 1:5", "expected a whole number from 1 on, got '1:5'"),
    ("jms2009ps --scenario 1 --topology freeform", "invalid choice"),
]


@pytest.mark.parametrize(("words", "why"), MISUSED)
def test_a_wrong_command_line_is_refused(words, why, capsys):
    """argparse's own exit code is 2 as well; the message says what was expected."""
    name, *options = words.split()
    with pytest.raises(SystemExit) as ended:
        run(name, *options)

    assert ended.value.code == 2
    assert why in capsys.readouterr().err
