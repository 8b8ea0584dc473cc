"""The flow of an interaction as a picture: what its tables say, each thing once, and all of it legible."""

import re

import pytest

from analysis.report.sequence_diagram import flow
from analysis.report.svg import WIDTH, width_of
from tests.conftest import ROOT
from tests.workloads.logistics.sizes import corrected
from workloads.logistics.compiled import LogisticsModel
from workloads.messaging import DestinationKind
from workloads.scenario.file_model import file_model
from workloads.scenario.workload import CaseRequest, Text
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import horizontal, vertical

#: Names as long as a file may have them, and a message that a place sends to itself at the right edge.
LONG = """
name = "long"
[roles]
{role} = {{ places = 3, handlers = 2 }}
{other} = 40
[messages.{message}-1]
from = "{role}"
to_all = "{other}"
groups = 7
selector = "a_header_with_a_name_that_goes_on_and_on"
rate_per_s = 3
bytes = 3
durable = true
[messages.{message}-2]
from = "{other}"
to = "{role}"
after = "{message}-1"
every = 10
bytes = 3
[messages.{message}-3]
from = "{role}"
to = "{role}"
after = "{message}-2"
after_from = "{other}"
bytes = 3
""".format(role="r" * 40, other="another-role-of-a-very-long-name-as-well", message="m" * 38)


def own(text):
    return file_model(CaseRequest(2, Text("mine.toml", text)))


MODELS = {
    "vertical": SupplyChain(vertical(5)),
    "H1": SupplyChain(horizontal(1)),
    "H100": SupplyChain(horizontal(100)),
    "logistics": LogisticsModel(corrected(2, 2, 720)),
    "pipeline": own((ROOT / "workloads" / "own" / "pipeline.toml").read_text(encoding="utf-8")),
    "prices": own((ROOT / "workloads" / "own" / "prices.toml").read_text(encoding="utf-8")),
    "long": file_model(CaseRequest(1, Text("long.toml", LONG))),
}
EVERY = [(name, number) for name, model in MODELS.items() for number in model.interactions]


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
    svg = flow(MODELS[name], number)
    messages = [message.name for message in MODELS[name].business.interactions[number].messages]

    named = re.findall(r'font-weight: 600">([^<]*)</text>', svg)
    assert [words for words in named if words in messages] == messages
    label = re.search(r'aria-label="([^"]*)"', svg)[1]
    assert all(f"{message} from " in label for message in messages)


@pytest.mark.parametrize(("name", "number"), EVERY)
def test_delivery_is_said_and_drawn(name, number):
    """A line is dashed where the message is not transacted, has a second head on a topic; words say both as well."""
    svg = flow(MODELS[name], number)
    messages = MODELS[name].business.interactions[number].messages

    assert svg.count("stroke-dasharray") == sum(not message.transacted for message in messages)
    topics = sum(message.kind is DestinationKind.TOPIC for message in messages)
    assert svg.count("<polygon") == len(messages) + topics
    words = [words for words, *_ in texts(svg)]
    assert sum(word.startswith("topic, ") for word in words) == topics
    assert sum(word.startswith("queue") for word in words) == len(messages) - topics
    options = "persistent, transacted"
    assert words.count(options) == sum(message.persistent and message.transacted for message in messages)


@pytest.mark.parametrize(("name", "number"), EVERY)
def test_legible(name, number):
    """No two texts lie over each other, none leaves the picture, none is smaller than 10 px."""
    svg = flow(MODELS[name], number)
    height = float(re.search(r'viewBox="0 0 \d+ ([\d.]+)"', svg)[1])
    found = list(texts(svg))

    assert min(float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)) >= 9
    for place, (words, left, right, top, bottom) in enumerate(found):
        assert 0 <= left < right <= WIDTH, words
        assert 0 <= top < bottom <= height, words
        for other, other_left, other_right, other_top, other_bottom in found[place + 1 :]:
            apart = right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
            assert apart, (words, other)


#: Words of a diagram that say who takes part, and who gets a message.
SAID = [
    ("vertical", 2, ["distribution", "centre", "2 to 3 of 5", "topic, 2.5 copies, durable", "the supplier chosen"]),
    ("logistics", 1, ["customer", "come and go", "1 to members, by Customer"]),
    ("logistics", 2, ["topic, 2 copies, durable"]),
    ("pipeline", 1, ["one of 2", "queue, 4 handlers compete", "received, in one of 10"]),
    ("prices", 1, ["4 of 16", "topic, 4 copies, durable", "selected by region", "8/s in all"]),
    ("prices", 2, ["all 16", "topic, 16 copies"]),
]


@pytest.mark.parametrize(("name", "number", "said"), SAID)
def test_who_takes_part(name, number, said):
    """Numbers of places and copies are those of the model, in the words of its tables."""
    words = [words for words, *_ in texts(flow(MODELS[name], number))]

    assert [each for each in said if each not in words] == []
