"""Executions from their ids: the audit expects what the model's own counts say, message by message."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.record_reading import read
from analysis.scenario.execution_ids import splitmix64
from analysis.scenario.expected import templates
from analysis.scenario.reader import CaseRecord
from tests.support.scenario_runs import workload_run
from tests.workloads.supply_chain.topologies import CONTROLLED, topologies
from workloads.scenario import model
from workloads.scenario.execution import Execution
from workloads.scenario.periods import Lengths
from workloads.scenario.scenario_plan import ScenarioPlan
from workloads.supply_chain.supply_chain import SupplyChain


@settings(max_examples=5)
@given(topologies())
def test_what_a_perfect_load_sends_is_what_is_expected(topology):
    """Every message of the recorder, by execution, step, sender and address, is one of the templates."""
    run = workload_run(topology, lengths=Lengths(1, 1, 1))
    plan = run.plans[0]
    cell = CaseRecord(0, None, None, read(ScenarioPlan, plan, "the plan"), SupplyChain(topology))
    places = {one["number"]: one["sender"] for one in (*plan["handlers"], *plan["drivers"])}
    most, sent = {}, Counter()
    for row in run.tables["sent"]:
        one = Execution.of(row["execution"])
        at = one.interaction, one.origin
        most[at] = max(most.get(at, 0), one.number)
        sent[one.interaction, one.origin, one.number, row["step"], places[row["producer"]], row["address"]] += 1
    made = {row[1:-1] for row in templates(cell, most)}
    assert set(sent.values()) <= {1}
    assert {at for at in sent if at[2] == 0} == {row for row in made if row[2] == 0}


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=20))
def test_the_draw_is_the_same_for_many_at_once(positions):
    """The sizes' generator in vectors gives what the model's gives one by one."""
    assert splitmix64(np.array(positions)).tolist() == [model.splitmix64(position) for position in positions]


@pytest.mark.parametrize("shared", [1, 2])
def test_an_audience_is_a_subscriber_or_all_that_share_a_queue(shared):
    """Handlers of one queue stand for each other; subscribers of a topic each for itself."""
    topology = CONTROLLED[2].__class__(**{**vars_of(CONTROLLED[2]), "handlers_per_queue": shared})
    plan = workload_run(topology, lengths=Lengths(0.1, 0.1, 0.1)).plans[0]
    cell = CaseRecord(0, None, None, read(ScenarioPlan, plan, "the plan"), SupplyChain(topology))
    audiences = Counter(address for address, _ in {(to, audience) for (to, _), audience in cell.audiences.items()})

    assert {to: one["copies"] for to, one in enumerate(plan["addresses"])} == dict(audiences)


def vars_of(topology):
    names = ("name", "base", "locations", "interactions", "families", "families_per_supplier", "handlers_per_queue")
    return {name: getattr(topology, name) for name in names}
