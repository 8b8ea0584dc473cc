"""Whatever the topology: a load and a broker that do everything right pass the audit."""

from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings

from analysis.scenario import pipeline
from tests.support import scenario_runs as wr
from tests.workloads.supply_chain.topologies import topologies
from workloads.scenario.periods import Lengths
from workloads.supply_chain.topology import Topology, vertical


def slower(topology: Topology) -> Topology:
    """The same with at most four starts per second and driver, so that a few seconds are few messages."""
    rates = {number: one.rate_per_s for number, one in topology.interactions.items()}
    scale = min(Fraction(1), Fraction(4) / max(rates.values()))
    interactions = {
        number: type(one)(one.script, one.rate_per_s * scale, one.size_distribution)
        for number, one in topology.interactions.items()
    }
    return Topology(
        topology.name,
        topology.base,
        topology.locations,
        interactions,
        topology.families,
        topology.families_per_supplier,
        topology.handlers_per_queue,
    )


#: Whatever else is drawn: of the second nothing is started so soon.
ALWAYS = (vertical(1).only(4), vertical(1).only(3), vertical(1).only(2))


def drawn(examples: int) -> list[Topology]:
    """So many of all topologies, the simplest among them."""
    found = []

    @settings(max_examples=examples, phases=(Phase.generate,))
    @given(topologies().map(slower))
    def draw(topology):
        found.append(topology)

    draw()
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_perfect_record_passes(tmp_path):
    """No test fails, and every execution that was started is complete."""
    run = wr.empty_run()
    for number, topology in enumerate([*ALWAYS, *drawn(4)]):
        wr.add_cell(run, topology, cell=f"cell-{number}", lengths=Lengths(1, 2, 2))

    for result in pipeline.analysed([run.write(tmp_path / "run")], master=""):
        assert [(row.rule.name, row.scope, row.why) for row in result.failed] == []
        assert all(one.completed == one.started for one in result.measured.interactions)
