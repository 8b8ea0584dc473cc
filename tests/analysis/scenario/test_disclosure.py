"""The full disclosure: everything that the rules ask for, in plain JSON; our figure only where it was earned."""

import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from analysis.record_reading import read
from analysis.scenario.disclosure import NAME, disclosure, storage, withheld, write
from tests.support import scenario_results as wr
from workloads.jms2009ps.digests import configuration_digest
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.json_value import json_value
from workloads.scenario import limits
from workloads.scenario.workload import RequestRecord
from workloads.specjms2007 import DISCLAIMER
from workloads.status import VerdictKind
from workloads.supply_chain import freeform
from workloads.supply_chain.characterization import characterization
from workloads.supply_chain.digests import digest
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import horizontal, vertical

RESULT = wr.result(repeat=True)

#: What a full disclosure has to have (rules, sections 6.1.1 to 6.1.4), by our names.
REQUIRED = {
    "figure": {"name", "value", "withheld", "spec_metric"},
    "test_info": {"run", "cell", "began_utc", "ended_utc", "outcome", "verdict", "compliant", "deviations"},
    "host": {
        "cpu_model",
        "cpu_mhz",
        "cpu_cores",
        "cpu_sockets",
        "cpu_caches",
        "memory_bytes",
        "store",
        "os",
        "packages",
    },
    "broker": {"product", "version", "provider", "java", "options", "flags", "flags_in_effect", "cpus", "capabilities"},
    "load": {"workers", "load_cpus"},
    "conduct": {"consumption", "transactions", "arrivals", "seed"},
    "model": {"digest_sha256"},
    "periods": {"lengths", "spans"},
}


def test_round_trip():
    """It is JSON as it stands, and all that the rules ask for is in it, the disclaimer before everything else."""
    said = disclosure(RESULT)

    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert next(iter(said)) == "disclaimer"
    assert said["disclaimer"] == DISCLAIMER
    for part, keys in REQUIRED.items():
        assert keys <= said[part].keys(), part
    assert said["model"]["digest_sha256"] == digest()
    assert all(one["why"] for one in said["not_applicable"])


def test_topology_is_the_characterization_s():
    """Destinations, subscriptions and connections are those of the model, as are rates and sizes; it can be made again
    of the request."""
    said, topology = disclosure(RESULT), vertical(5)
    shown, model = said["topology"], characterization(topology)

    for key in ("queues", "topics", "topic_subscriptions", "event_handlers", "drivers", "connections"):
        assert shown[key] == model[key], key
    assert {each["number"]: Fraction(each["started_per_s"]) for each in shown["interactions"]} == {
        number: topology.started_per_s(number) for number in topology.interactions
    }
    assert {each["message"]: tuple(each["body_bytes"]) for each in shown["messages"]} == {
        step.message: topology.interactions[step.interaction].size_distribution.body_bytes(step.message)
        for step in topology.steps
    }
    assert RESULT.workload.model_of(read(RequestRecord, said["request"], "request")) == SupplyChain(topology)


def test_all_parameters_of_a_configuration_are_told():
    """Where cases differ in how messages reach their addresses; 92 values in the published scenarios."""
    settings = SCENARIOS[1]
    said = disclosure(wr.configured(settings, 5))["workload_configuration"]
    values = [value for of_one in said["parameters"].values() for value in of_one.values() if value is not None]

    assert disclosure(RESULT)["workload_configuration"] is None
    assert len(values) == 92
    assert said["parameters"] == json_value(settings.parameters)
    assert said["digest"] == configuration_digest(settings)


def test_nothing_is_left_out():
    """Every period has all its interactions, messages and event handlers, the audit every row, however many."""
    wide = wr.result(horizontal(20), repeat=True)
    said = disclosure(wide)

    assert [one["period"] for one in said["results"]] == ["measurement", "repeat"]
    for shown, period in zip(said["results"], wide.periods, strict=True):
        for part in ("interactions", "steps", "handlers"):
            assert len(shown[part]) == len(getattr(period, part))
    assert [row["scope"] for row in said["audit"]] == [row.scope for row in wide.audit]
    assert {row["verdict"] for row in said["audit"]} == {"pass", "not judged"}
    assert [(one["period"], one["begin_s"]) for one in said["periods"]["spans"]] == [
        ("warm-up", 0.0),
        ("measurement", 30.0),
        ("repeat", 120.0),
        ("drain", 210.0),
    ]


#: Results without a figure -> why.
WITHHELD = {
    "a test failed": (
        wr.failing(RESULT, limits.DELIVERY, "SM1 orderConf", 1, "execution 3"),
        "the audit failed: everything received, SM1 orderConf",
    ),
    "a check could not be made": (replace(RESULT, verdict=VerdictKind.UNVERIFIED), "the verdict is unverified"),
    "an interaction alone": (wr.result(vertical(5).only(2)), "1 of 7 interactions ran"),
    "a user's own topology": (
        wr.result(freeform.read("locations = { supermarkets = 2 }\n[interaction_4]\nrate_per_s = 1")),
        "the freeform topology has no figure",
    ),
    "nothing measured": (replace(RESULT, periods=()), "there was no measurement period"),
}


@pytest.mark.parametrize("name", WITHHELD)
def test_no_figure_without_a_passed_audit(name):
    """The figure is null unless all of a published topology was measured and passed; the reason stands beside it."""
    result, reason = WITHHELD[name]

    assert disclosure(result)["figure"]["value"] is None
    assert disclosure(result)["figure"]["withheld"] == withheld(result) == reason


def test_a_figure_of_its_own_name():
    """A passed audit gives BASE under our own name, which is nowhere that of a SPEC metric."""
    for topology, name in ((vertical(5), "vertical"), (horizontal(5), "horizontal")):
        said = disclosure(wr.result(topology))
        assert said["figure"] == {
            "name": f"supply-chain BASE ({name})",
            "value": 5,
            "withheld": None,
            "spec_metric": False,
        }
        assert not re.search(r"specjms2007@|specjms@", json.dumps(said), re.IGNORECASE)


@pytest.mark.parametrize(
    ("growth", "seconds", "said"),
    [
        (None, 1800, "not known: the broker's files could not be measured"),
        (40_000.0, 60, "measured over 60 s only, below 600 s"),
        (40_000.0, 1800, "the disk has enough free space"),
        (4e6, 1800, "the disk does not have enough free space"),
        (-3.0, 1800, "the files did not grow in the period"),
    ],
)
def test_storage_of_a_day(growth, seconds, said):
    """The measured growth times 86400 s beside what is free; what is not known or means little is said so."""
    period = replace(RESULT.measured, store_growth_bytes_per_s=growth, seconds=seconds)
    found = storage(replace(RESULT, periods=(period,)))

    assert said in found.said
    assert found.day_bytes == (None if growth is None else growth * 86400)
    assert disclosure(replace(RESULT, periods=(period,)))["storage"]["said"] == found.said


def test_a_broker_that_ran_already():
    """What is not known of it is null, not made up."""
    broker = replace(RESULT.broker, provider="url", cpus=None, configuration_digest=None)
    said = disclosure(replace(RESULT, manifest=replace(RESULT.manifest, brokers={"activemq": broker})))

    assert said["server_on_the_client_node"] is None
    assert (said["broker"]["cpus"], said["broker"]["configuration_digest"]) == (None, None)


def test_one_file_per_result(tmp_path):
    """`disclosure.json` of a run's only result; of several, one each; the same bytes each time, and no path in them."""
    alone = wr.result(path=tmp_path)
    (path,) = write([alone])
    first = path.read_text(encoding="utf-8")

    assert path == tmp_path / NAME
    assert json.loads(first) == disclosure(alone)
    assert first.index(DISCLAIMER[:40]) < first.index("supply-chain BASE")
    assert write([alone])[0].read_text(encoding="utf-8") == first
    assert str(tmp_path) not in first
    assert "passcode" not in first.lower()
    names = [one.name for one in write([alone, wr.result(vertical(10), path=tmp_path)])]
    assert names == [
        "disclosure-activemq-01-vertical-b0005.json",
        "disclosure-activemq-01-vertical-b0010.json",
    ]
