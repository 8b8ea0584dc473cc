"""The tables of the interactions against the paper's Tables 1 and 3 and its section 2.3."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workloads.errors import WorkloadError
from workloads.messaging import DestinationKind
from workloads.supply_chain.interactions import INTERACTIONS, DeliveryOptions, DestinationGroup, MessageType

STEPS = {step.message: step for script in INTERACTIONS.values() for step in script.steps}

#: Sachs et al. 2009, Table 1: interaction, message, destination, type, properties. Sender: from the description, and
#: for what RFID readers see as chi of section 3.1b needs it (DC for shipDep and shipInfo, SP for pShipInfo).
TABLE_1 = """
1 order               Queue DC ObjectMsg P,T   SM
1 orderConf           Queue SM ObjectMsg P,T   DC
1 shipDep             Queue DC TextMsg   P,T   DC
1 statInfoOrderDC     Queue HQ StreamMsg NP,NT DC
1 shipInfo            Queue SM TextMsg   P,T   DC
1 shipConf            Queue DC ObjectMsg P,T   SM
2 callForOffers       Topic HQ TextMsg   P,T,D DC
2 offer               Queue DC TextMsg   P,T   SP
2 pOrder              Queue SP TextMsg   P,T   DC
2 pOrderConf          Queue DC TextMsg   P,T   SP
2 invoice             Queue HQ TextMsg   P,T   SP
2 pShipInfo           Queue DC TextMsg   P,T   SP
2 pShipConf           Queue SP TextMsg   P,T   DC
2 statInfoShipDC      Queue HQ StreamMsg NP,NT DC
3 priceUpdate         Topic HQ MapMsg    P,T,D HQ
4 inventoryInfo       Queue SM TextMsg   P,T   SM
5 statInfoSM          Queue HQ ObjectMsg NP,NT SM
6 productAnnouncement Topic HQ StreamMsg NP,NT,ND HQ
7 creditCardHL        Topic HQ StreamMsg NP,NT,ND HQ
"""
ROWS = [line.split() for line in TABLE_1.strip().splitlines()]


def test_every_message_of_the_paper_is_a_step_and_no_other():
    """Table 1 has nineteen messages in seven interactions."""
    assert [(str(step.interaction), step.message) for step in STEPS.values()] == [(row[0], row[1]) for row in ROWS]
    assert len(STEPS) == 19


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_a_step_is_its_row_of_table_1(row):
    """Kind of destination, place, body type, properties and sender are Table 1's; a topic's place is the HQ."""
    _, message, kind, place, body, properties, sender = row
    step = STEPS[message]
    flags = properties.split(",")

    assert step.kind is DestinationKind(kind.lower())
    assert step.sender.role == sender
    assert step.body == body
    assert step.mode == DeliveryOptions(persistent="P" in flags, transacted="T" in flags, durable="D" in flags)
    if kind == "Queue":
        assert step.receiver.role == place
    else:
        assert step.receiver.role == ("SP" if message == "callForOffers" else "SM")


def test_groups_are_those_of_table_3():
    """a: pub/sub NP NT ND, b: pub/sub P T D, c: P2P NP NT, d: P2P P T; interaction 5 is c (Table 1)."""
    groups = {group: {step.message for step in STEPS.values() if step.group is group} for group in DestinationGroup}

    assert groups[DestinationGroup.A] == {"productAnnouncement", "creditCardHL"}
    assert groups[DestinationGroup.B] == {"callForOffers", "priceUpdate"}
    assert groups[DestinationGroup.C] == {"statInfoOrderDC", "statInfoShipDC", "statInfoSM"}
    assert len(groups[DestinationGroup.D]) == 12


def test_every_chain_begins_with_a_driver_and_is_told_in_order():
    """One step of each interaction has no trigger: its first. Every other one is triggered by a step above it."""
    for script in INTERACTIONS.values():
        seen: list[MessageType] = []
        for step in script.steps:
            assert (step.after is None) == (not seen)
            assert step.after is None or step.after in [before.message for before in seen]
            seen.append(step)


def test_who_answers_is_who_received():
    """A message is sent by the role that received its trigger: handlers have no other way to hear of it."""
    for step in STEPS.values():
        if step.after is not None:
            assert step.sender.role is STEPS[step.after].receiver.role


def test_no_party_of_several_sends_to_several():
    """Only so is the traffic of a step its senders times its receivers without a further law."""
    assert not [step for step in STEPS.values() if step.sender.plural and step.receiver.plural]


def test_a_configuration_sets_the_kind():
    """A message with one receiver may go to a topic, and belongs to the group of such messages then."""
    order = replace(STEPS["order"], configured_kind=DestinationKind.TOPIC)

    assert (order.kind, order.group) == (DestinationKind.TOPIC, DestinationGroup.B)
    with pytest.raises(WorkloadError, match="priceUpdate: has several consumers; expected a topic"):
        replace(STEPS["priceUpdate"], configured_kind=DestinationKind.QUEUE)
