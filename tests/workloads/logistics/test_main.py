"""The command that prints what a size amounts to."""

from __future__ import annotations

import json

import pytest

from workloads.logistics.__main__ import main


def printed(capsys, *words):
    """What the command prints, as JSON."""
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json(capsys):
    """One size has its table, totals, rates by the clock, identities and choices, each number with its exact text."""
    record = printed(capsys, "--profile", "corrected", "--base", "1", "--vehicles", "5", "--compression", "720")

    assert list(record) == [
        "disclaimer",
        "profile",
        "base",
        "vehicles_per_hub",
        "compression",
        "addressing",
        "customers_per_connection",
        "tracking",
        "scale",
        "entities",
        "drivers",
        "messages_per_shipment",
        "totals",
        "wall",
        "body_bytes",
        "identities",
        "choices",
    ]
    assert (record["scale"], record["tracking"], record["entities"]["V"]) == ("5/53", "life", 5)
    assert record["drivers"]["ShipmentScan"]["factor_exact"] == "2"
    assert record["wall"]["tracking_connections"] == 71
    assert record["wall"]["connections"] == pytest.approx(1 + 1 + 5 + 71 + 8.384 * 5 / 53)
    assert (record["wall"]["queues"], record["wall"]["topics"]) == (2, 5)
    assert record["wall"]["gap_s"] == 0.5
    assert record["body_bytes"]["environmentDataLH"] == 2912
    assert all(identity["holds"] for identity in record["identities"])


def test_several_sizes(capsys):
    """A row of Figure 3 for each BASE, and each size whole."""
    record = printed(capsys, "--profile", "as-printed", "--base", "1:10:3")

    assert [row["base"] for row in record["figures"]] == [1, 4, 7, 10]
    assert [size["base"] for size in record["sizes"]] == [1, 4, 7, 10]
    assert record["figures"][3]["totals"]["delivered_per_min"] == pytest.approx(50651.094)
    assert record["figures"][3]["totals"]["published_per_min"] == pytest.approx(456.9)


def test_text(capsys):
    """The same as text; what does not hold in the printed table is said."""
    assert main(["--profile", "as-printed", "--addressing", "topic"]) == 0
    text = capsys.readouterr().out

    assert "subscriptions: 90,556.430 of customers" in text
    assert "scans per shipment" in text
    assert "-66.67%" in text
    assert main(["--base", "1:2:1"]) == 0
    assert "Figure 3c" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--vehicles", "0"), "--vehicles: expected a whole number from 1 to 53, got 0"),
        (("--vehicles", "54"), "--vehicles: expected a whole number from 1 to 53, got 54"),
        (("--compression", "0"), "--compression: expected a whole number from 1 to 4320, got 0"),
        (("--compression", "4321"), "--compression: expected a whole number from 1 to 4320, got 4321"),
        (("--profile", "printed"), "--profile: expected one of corrected, as-printed, got 'printed'"),
        (("--addressing", "key"), "--addressing: expected one of selector, topic, got 'key'"),
        (("--base", "10001"), "--base: expected a whole number from 1 to 10000, got 10001"),
    ],
)
def test_what_cannot_be_described_is_refused(capsys, words, why):
    """Exit code 2, with the option, what was expected and what was given."""
    assert main(words) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--base", "0"), ("--base", "1:0:1"), ("--file", "own.toml")])
def test_words_that_the_command_does_not_have(capsys, words):
    """Refused with the same exit code."""
    with pytest.raises(SystemExit) as ended:
        main(words)

    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err
