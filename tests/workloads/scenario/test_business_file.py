"""A workload of the user's own, from a file: what it means, and how mistakes are refused."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from tests.conftest import ROOT
from workloads.errors import WorkloadError
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.business_file import read_business
from workloads.scenario.execution import Execution
from workloads.scenario.file_model import FileModel, file_model
from workloads.scenario.message import MOST_FIELD
from workloads.scenario.workload import CaseRequest, Text

OWN = ROOT / "workloads" / "own"
EXAMPLES = tuple(sorted(path.stem for path in OWN.glob("*.toml")))


def text_of(example: str) -> str:
    return (OWN / f"{example}.toml").read_text(encoding="utf-8")


def example(name: str, base: int) -> FileModel:
    return file_model(CaseRequest(base, Text(f"{name}.toml", text_of(name))))


def test_a_shop_means_what_it_says():
    """Each of BASE shops orders over a queue from the one warehouse, which confirms over a queue per shop."""
    model = example("shop", 3)
    queues = ["warehouse1.order", *(f"shop{shop}.confirmation" for shop in (1, 2, 3))]

    assert list(model.scenario.destinations) == [
        Destination(DestinationKind.QUEUE, f"bench.workload.{name}") for name in queues
    ]
    assert [(driver.place, driver.rate_per_s) for driver in model.scenario.drivers] == [
        (f"shop{shop}", 10) for shop in (1, 2, 3)
    ]
    assert model.address_rates_per_s == (30, 10, 10, 10)
    assert [(step.message, step.persistent, step.body_bytes) for step in model.steps] == [
        ("order", True, (800,)),
        ("confirmation", False, (200,)),
    ]
    assert [(message.address.party, message.sender) for message in model.expected(Execution(1, 2, 7))] == [
        (0, 2),
        (2, 0),
    ]


def test_groups_are_dealt_out_and_served_in_turn():
    """Each price reaches the branches of one of four groups, by a selector on one topic; a closing reaches all."""
    model = example("prices", 2)
    price, closing = (model.scenario.steps.index(name) for name in ("price", "closing"))
    selectors = {
        subscription.selector
        for handler in model.scenario.handlers
        if handler.step == price
        for subscription in handler.subscriptions
    }

    assert selectors == {f"region = 'branch-group{group}'" for group in (1, 2, 3, 4)}
    assert len({address.destination for address in model.scenario.addresses if address.properties}) == 1
    assert [model.expected(Execution(1, 0, number))[0].address.party for number in range(5)] == [0, 1, 2, 3, 0]
    copies = dict(zip(model.addresses, model.scenario.fan_out, strict=True))
    assert {key.step: number for key, number in copies.items()} == {price: 4, closing: 16, 2: 1}
    assert float(model.interactions[2].sent) == 17  # a closing, and a report of each branch


def test_competing_handlers_and_an_answer_in_every_tenth_execution():
    """Four handlers share a queue; what is sent in every tenth execution has a field that says when."""
    model = example("pipeline", 2)
    received, rejected = (model.scenario.steps.index(name) for name in ("received", "rejected"))
    (driver, _) = model.scenario.drivers

    assert model.audience(model.addresses[received]) == (
        tuple(handler.number for handler in model.scenario.handlers if handler.step == received),
    )
    assert len(model.audience(model.addresses[received])[0]) == 4
    assert [row[-1] for row in driver.fields] == [0, *[MOST_FIELD] * 9]
    assert model.address_rates_per_s[rejected] == Fraction(2 * 20, 10)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_at_most_forty_lines(name):
    """Short enough to be read at once."""
    assert len(text_of(name).splitlines()) <= 40


SHOP = text_of("shop")

#: A change of the shop, and what is said of it.
REFUSED = [
    ("name = ", "nam = ", "mine.toml, line 1: unknown key 'nam'; expected name, roles, messages"),
    ('name = "shop"', 'name = "my shop"', "line 1: name: expected a letter, then up to 39 letters, digits, _ and -"),
    (
        "shop = { per_base = 1 }",
        "shop = { per_bas = 1 }",
        "line 4: [roles.shop]: unknown key 'per_bas'; expected",
    ),
    ("warehouse = 1", "warehouse = 0", "line 5: [roles]: warehouse: expected 1 to 99998 places, got 0"),
    ("warehouse = 1", "warehouse = 1.5", "line 5: [roles]: warehouse: expected a whole number, got 1.5"),
    ("warehouse = 1", 'warehouse = { places = 1, chosen = "first" }', "expected 'own' or 'in turn', got 'first'"),
    ("warehouse = 1", "warehouse = { handlers = 2 }", "expected either places or per_base, got 'neither'"),
    (
        'from = "shop"',
        'from = "shops"',
        "line 8: [messages.order]: from: expected a role: shop, warehouse, got",
    ),
    ('to = "warehouse"\n', "", "line 7: [messages.order]: expected either to or to_all, as it goes to"),
    ("rate_per_s = 10", "rate_per_s = 0", "line 10: [messages.order]: rate_per_s: expected more than 0, got 0.0"),
    ("rate_per_s = 10\n", "", "line 7: [messages.order]: expected either rate_per_s or after, as it starts"),
    (
        "rate_per_s = 10",
        'rate_per_s = 10\nafter = "confirmation"',
        "line 11: [messages.order]: expected either",
    ),
    ("rate_per_s = 10", 'after = "confirmation"', "expected a message that is sent without it, got 'confirmation'"),
    ('after = "order"', 'after = "orders"', "line 17: [messages.confirmation]: after: expected a message: order, conf"),
    ('from = "warehouse"', 'from = "shop"', "line 15: [messages.confirmation]: from: expected 'warehouse', which"),
    ("bytes = 800", "bytes = 70000", "line 11: [messages.order]: bytes: expected whole numbers from 0 to 65536, got"),
    (
        "bytes = 800\n",
        "",
        "line 7: [messages.order]: 'bytes' is missing; expected a number of bytes, or",
    ),
    ("bytes = 800", "bytes = [1, 2]", "expected one size, or 1, as the interaction has probabilities, got [1, 2]"),
    ("bytes = 800", "bytes = 8\nprobabilities = [0.5, 0.4]", "expected numbers above 0 with the sum 1, got [0.5, 0.4]"),
    ("persistent = true", "persistent = 1", "line 12: [messages.order]: persistent: expected true or false, got 1"),
    ("persistent = true", "durable = true", "durable: expected none, as only a message with to_all has it, got True"),
    ("persistent = true", "every = 2", "every: expected none, as only an answer has one, got 2"),
    ("persistent = true", 'selector = "x"', "selector: expected none, as only a message with groups has it, got 'x'"),
    ('to = "shop"', 'to_all = "shop"\ngroups = 9', "groups: expected 1 to 5, the number of places of shop, got 9"),
    ('to = "shop"', 'to_all = "shop"\ngroups = 2\nselector = "a-b"', "selector: expected the name of a header ("),
    ("persistent = true", "persistent = maybe", "mine.toml: not TOML: Invalid value (at line 12, column 14)"),
]


@pytest.mark.parametrize(("old", "new", "said"), REFUSED, ids=[said for _, _, said in REFUSED])
def test_a_mistake_is_refused_with_its_place(old, new, said):
    """The file, the line, the table and the key, what was found and what was expected."""
    assert SHOP.count(old) >= 1
    with pytest.raises(WorkloadError, match=re.escape(said)) as refused:
        read_business(SHOP.replace(old, new, 1), "mine.toml", 5)
    assert str(refused.value).startswith("mine.toml")


@pytest.mark.parametrize("every", [1, 2, 3, 5])
def test_a_turn_goes_on_with_each_message(every):
    """However seldom an answer is sent, the two places that take turns get as many of them."""
    text = f"""
        name = "claims"
        [roles]
        branch = {{ per_base = 1 }}
        department = 1
        assessor = {{ places = 2, chosen = "in turn" }}
        [messages.claim]
        from = "branch"
        to = "department"
        rate_per_s = 5
        bytes = 1
        [messages.assessment]
        from = "department"
        to = "assessor"
        after = "claim"
        every = {every}
        bytes = 1
        """
    model = file_model(CaseRequest(3, Text("claims.toml", text)))

    assert model.address_rates_per_s == (15, Fraction(15, 2 * every), Fraction(15, 2 * every))


def test_at_most_seven_messages_have_a_rate():
    """An execution's id has no place for an eighth interaction; the message is named."""
    many = "".join(f'[messages.m{i}]\nfrom = "shop"\nto = "shop"\nrate_per_s = 1\nbytes = 1\n' for i in range(8))
    text = f'name = "many"\n[roles]\nshop = 1\n{many}'

    with pytest.raises(WorkloadError, match=r"line 42: \[messages.m7\]: rate_per_s: expected at most 7 messages with"):
        read_business(text, "many.toml", 1)


def test_a_file_in_which_nothing_grows_has_one_base():
    """Another BASE would be the same load under another name."""
    with pytest.raises(WorkloadError, match="BASE 2, but nothing grows with it"):
        read_business(SHOP.replace("{ per_base = 1 }", "1"), "fixed.toml", 2)


def test_an_answer_to_several_senders_says_whose():
    """An order after the offers of all suppliers would be sent once for each of them."""
    text = """
        name = "offers"
        [roles]
        buyer = 1
        supplier = { places = 3, chosen = "in turn" }
        [messages.call]
        from = "buyer"
        to_all = "supplier"
        rate_per_s = 1
        bytes = 10
        [messages.offer]
        from = "supplier"
        to = "buyer"
        after = "call"
        bytes = 10
        [messages.order]
        from = "buyer"
        to = "supplier"
        after = "offer"
        bytes = 10
        """
    with pytest.raises(WorkloadError, match="order: would be sent once for each offer of all-supplier"):
        read_business(text, "offers.toml", 1)

    model = file_model(CaseRequest(1, Text("offers.toml", text + 'after_from = "supplier"\n')))
    for number in range(4):
        *_, order = model.expected(Execution(1, 0, number))
        assert order.address.party == number % 3
