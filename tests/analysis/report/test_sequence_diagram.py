"""The flow of an interaction as a picture: what its tables say, each thing once, and all of it legible."""

import re

import pytest

from analysis.report.sequence_diagram import flow
from analysis.report.svg import WIDTH, width_of
from workloads.messaging import DestinationKind
from workloads.supply_chain import freeform
from workloads.supply_chain.interactions import INTERACTIONS
from workloads.supply_chain.topology import horizontal, vertical

TOPOLOGIES = {"vertical": vertical(5), "H1": horizontal(1), "H100": horizontal(100)}
EVERY = [(name, number) for name in TOPOLOGIES for number in INTERACTIONS]


def texts(svg):
    """(words, left, right, top, bottom) of every line of text, by the width that the drawing reckons with."""
    pattern = r'<text x="([\d.]+)" y="([\d.]+)" style="font-size: ([\d.]+)px; text-anchor: (\w+)[^"]*">([^<]*)</text>'
    for x, y, size, anchor, words in re.findall(pattern, svg):
        width = width_of(words, float(size))
        left = float(x) - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        yield words, left, left + width, float(y) - 0.75 * float(size), float(y) + 0.2 * float(size)


@pytest.mark.parametrize(("name", "number"), EVERY)
def test_every_message_once(name, number):
    """Every message of the interaction is named once, in the order of the tables, with its two ends in words."""
    svg = flow(TOPOLOGIES[name], number)
    messages = [step.message for step in INTERACTIONS[number].steps]

    named = re.findall(r'font-weight: 600">([^<]*)</text>', svg)
    assert [words for words in named if words in messages] == messages
    label = re.search(r'aria-label="([^"]*)"', svg)[1]
    assert all(f"{message} from " in label for message in messages)


@pytest.mark.parametrize("number", INTERACTIONS)
def test_delivery_is_said_and_drawn(number):
    """A line is dashed where the message is not transacted, has a second head on a topic; words say both as well."""
    svg = flow(vertical(5), number)
    steps = INTERACTIONS[number].steps

    assert svg.count("stroke-dasharray") == sum(not step.mode.transacted for step in steps)
    topics = sum(step.kind is DestinationKind.TOPIC for step in steps)
    assert svg.count("<polygon") == len(steps) + topics
    words = [words for words, *_ in texts(svg)]
    assert sum(word.startswith("topic, ") for word in words) == topics
    assert sum(word.startswith("queue") for word in words) == len(steps) - topics
    assert words.count("persistent, transacted") == sum(step.mode.persistent for step in steps)


@pytest.mark.parametrize(("name", "number"), EVERY)
def test_legible(name, number):
    """No two texts lie over each other, none leaves the picture, none is smaller than 10 px."""
    svg = flow(TOPOLOGIES[name], number)
    height = float(re.search(r'viewBox="0 0 \d+ ([\d.]+)"', svg)[1])
    found = list(texts(svg))

    assert min(float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)) >= 9
    for place, (words, left, right, top, bottom) in enumerate(found):
        assert 0 <= left < right <= WIDTH, words
        assert 0 <= top < bottom <= height, words
        for other, other_left, other_right, other_top, other_bottom in found[place + 1 :]:
            apart = right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
            assert apart, (words, other)


def test_a_users_own_modes():
    """What a freeform file says of a message's delivery is drawn, not what the published table has."""
    text = """
        locations = { supermarkets = 2, headquarters = 1 }
        [interaction_3]
        rate_per_s = 1
        messages.priceUpdate = { persistent = false, transacted = false, durable = false }
    """
    topology = freeform.read(text)

    assert "not persistent, not transacted" in flow(topology, 3)
    assert "topic, 2 copies" in flow(topology, 3)
