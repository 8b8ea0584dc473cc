"""Message filters as values: text and object say the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.errors import WorkloadError
from workloads.selectors import And, Equals, Or, Selector, all_of, parse

PROPERTY = settings(deadline=None)

NAMES = st.sampled_from(["P1", "P2", "_x", "$y", "and_", "ORder"])
VALUES = st.sampled_from(["", "#0", "it's", "''", "a = 'b'", ") OR (", " ", "ñ\n\\"]) | st.text(max_size=5)
EQUALS = st.builds(Equals, NAMES, VALUES)


def terms_of(kind: type, members: st.SearchStrategy[Selector]) -> st.SearchStrategy[Selector]:
    return st.lists(members, min_size=2, max_size=4).map(lambda terms: kind(tuple(terms)))


def nested(depth: int, joined: type) -> st.SearchStrategy[Selector]:
    """Selectors whose AND and OR alternate, which is the form that text can tell."""
    if not depth:
        return EQUALS
    other = Or if joined is And else And
    return terms_of(joined, EQUALS | nested(depth - 1, other))


SELECTORS = EQUALS | nested(3, And) | nested(3, Or)
ANY = st.recursive(EQUALS, lambda members: terms_of(And, members) | terms_of(Or, members), max_leaves=12)
PROPERTIES = st.dictionaries(NAMES, VALUES, max_size=4)


@PROPERTY
@given(selector=SELECTORS)
def test_the_text_tells_the_selector(selector):
    """Whatever the values hold, quotes and operators included, the text is read back as the same selector."""
    assert parse(str(selector)) == selector


@PROPERTY
@given(selector=ANY, properties=PROPERTIES)
def test_the_text_means_what_the_selector_means(selector, properties):
    """Where AND stands in AND, or OR in OR, the text leaves out the parentheses that change nothing."""
    read = parse(str(selector))

    assert read.matches(properties) == selector.matches(properties)
    assert str(read) == str(selector)


#: Text, and the properties of messages that match and that do not, from JMS 1.1, section 3.8.1.1.
MEANINGS = [
    ("a = '1'", [{"a": "1"}, {"a": "1", "b": "2"}], [{}, {"a": "2"}, {"a": "1 "}, {"A": "1"}, {"b": "1"}]),
    ("a = ''", [{"a": ""}], [{}, {"a": " "}]),
    ("a = 'it''s'", [{"a": "it's"}], [{"a": "it''s"}, {"a": "its"}]),
    ("a = '1' AND b = '2'", [{"a": "1", "b": "2"}], [{"a": "1"}, {"b": "2"}, {"a": "2", "b": "1"}]),
    ("a = '1' OR b = '2'", [{"a": "1"}, {"b": "2"}], [{}, {"a": "2", "b": "1"}]),
    ("a = '1' OR b = '2' AND c = '3'", [{"a": "1"}, {"b": "2", "c": "3"}], [{"b": "2"}, {"c": "3"}]),
    ("(a = '1' OR b = '2') AND c = '3'", [{"a": "1", "c": "3"}], [{"a": "1"}, {"b": "2"}]),
    ("\ta='1'and((b='2'))Or c = 'x AND y' ", [{"a": "1", "b": "2"}, {"c": "x AND y"}], [{"a": "1"}, {"c": "x"}]),
]


@pytest.mark.parametrize(("text", "matching", "others"), MEANINGS, ids=[text for text, *_ in MEANINGS])
def test_a_filter_means_what_jms_says(text, matching, others):
    """AND binds tighter than OR, keywords have no case, names have; what a message lacks is not equal to anything."""
    selector = parse(text)

    assert all(selector.matches(properties) for properties in matching)
    assert not any(selector.matches(properties) for properties in others)


#: Text that is not of the supported grammar, and what the message must name.
REFUSED = [
    ("", "found the end"),
    ("   ", "found the end"),
    ("a", "found a"),
    ("a =", "found a ="),
    ("a = b", "found a = b"),
    ("a = 1", "cannot read ' 1' at position 3"),
    ("a = 'b", "at position 3"),
    ("a <> 'b'", "at position 1"),
    ("a-b = 'c'", "at position 1"),
    ("1a = 'c'", "at position 0"),
    ("'a' = 'b'", "found a = b"),
    ("a = 'b' c = 'd'", "'c' was not expected after a = 'b'"),
    ("a = 'b' AND", "found the end"),
    ("OR a = 'b'", "found OR a ="),
    ("NOT a = 'b'", "found NOT a ="),
    ("(a = 'b'", r"a '\)' is missing after a = 'b'"),
    ("a = 'b')", r"'\)' was not expected"),
    ("()", r"found \)"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_the_grammar_does_not_have_is_refused(text, message):
    """The error quotes the selector and names the place or the words that were not expected."""
    with pytest.raises(WorkloadError, match=message) as caught:
        parse(text)

    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("name", ["", "a-b", "1a", "a b", "a.b", "é", "AND", "or", "NULL", "like", "Between"])
def test_names_that_no_selector_can_use_are_refused(name):
    """JMS identifiers have letters, digits, _ and $, begin with no digit, and are no word of the grammar."""
    with pytest.raises(WorkloadError, match="not a selector identifier"):
        Equals(name, "x")


@pytest.mark.parametrize("joined", [And, Or])
@pytest.mark.parametrize("terms", [(), (Equals("a", "1"),)], ids=len)
def test_one_term_needs_no_joining(joined, terms):
    """AND and OR of fewer than two terms would have no text."""
    with pytest.raises(WorkloadError, match=f"at least two terms, got {len(terms)}"):
        joined(terms)


def test_all_of_one_term_is_the_term():
    """The filters of length 1 and n come from one expression."""
    first, second = Equals("a", "1"), Equals("b", "2")

    assert all_of(first) == first
    assert all_of(first, second) == And((first, second))
