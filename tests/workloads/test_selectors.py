"""Message filters as values: text and object say the same."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.errors import WorkloadError
from workloads.selectors import And, Between, Equals, In, IsNull, Like, Or, all_of, parse

NAMES = st.sampled_from(["P1", "P2", "_x", "$y", "and_", "ORder"])
VALUES = st.sampled_from(["", "#0", "it's", "''", "a = 'b'", ") OR (", " ", "ñ\n\\"]) | st.text(max_size=5)
INTEGERS = st.sampled_from([0, 1, 9, 10, 2**31 - 1]) | st.integers(0, 30)


def terms_of(kind, members):
    return st.lists(members, min_size=2, max_size=4).map(lambda terms: kind(tuple(terms)))


def selectors(names, integer_names, values):
    """Filters of all kinds, nested; BETWEEN looks at the properties of `integer_names` only."""
    leaves = (
        st.builds(Equals, names, values)
        | st.builds(In, names, st.lists(values, min_size=1, max_size=4).map(tuple))
        | st.builds(Like, names, values | st.text("%_ab.", max_size=4))
        | st.builds(lambda name, ends: Between(name, *sorted(ends)), integer_names, st.tuples(INTEGERS, INTEGERS))
        | st.builds(IsNull, names | integer_names)
    )
    return st.recursive(leaves, lambda members: terms_of(And, members) | terms_of(Or, members), max_leaves=12)


@given(selector=selectors(NAMES, NAMES, VALUES))
def test_the_text_tells_the_selector(selector):
    """Whatever the values hold, quotes and operators included, the text is read back as the same selector."""
    assert parse(str(selector)) == selector


SHORT = st.text("ab.%_'\n", max_size=3)


@given(
    selector=selectors(st.sampled_from("ab"), st.just("n"), SHORT),
    properties=st.dictionaries(st.sampled_from("ab"), SHORT),
    number=st.none() | INTEGERS,
)
def test_a_filter_means_what_sql_says(selector, properties, number):
    """JMS 1.1, section 3.8.1: the syntax is SQL92's. SQLite reads the same text and selects the same messages.

    SQLite compares a text with an integer as JMS does not, so `n`, the integer, is given as one.
    """
    row = [properties.get("a"), properties.get("b"), number]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("PRAGMA case_sensitive_like = ON")
        (said,) = database.execute(f"SELECT {selector} FROM (SELECT ? AS a, ? AS b, ? AS n)", row).fetchone()

    stated = properties | ({} if number is None else {"n": str(number)})
    assert selector.matches(stated) == bool(said)
    assert parse(str(selector)).matches(stated) == bool(said)


#: Text, and the properties of messages that match and that do not, from JMS 1.1, section 3.8.1.1.
MEANINGS = [
    ("a = '1'", [{"a": "1"}, {"a": "1", "b": "2"}], [{}, {"a": "2"}, {"a": "1 "}, {"A": "1"}, {"b": "1"}]),
    ("a = ''", [{"a": ""}], [{}, {"a": " "}]),
    ("a = 'it''s'", [{"a": "it's"}], [{"a": "it''s"}, {"a": "its"}]),
    ("a = '1' AND b = '2'", [{"a": "1", "b": "2"}], [{"a": "1"}, {"b": "2"}, {"a": "2", "b": "1"}]),
    ("a = '1' OR b = '2'", [{"a": "1"}, {"b": "2"}], [{}, {"a": "2", "b": "1"}]),
    ("a = '1' OR b = '2' AND c = '3'", [{"a": "1"}, {"b": "2", "c": "3"}], [{"b": "2"}, {"c": "3"}]),
    ("(a = '1' OR b = '2') AND c = '3'", [{"a": "1", "c": "3"}], [{"a": "1"}, {"b": "2"}]),
    ("a = '1' OR (b = '2' OR (c = '3' AND (d = '4')))", [{"b": "2"}, {"c": "3", "d": "4"}], [{"c": "3"}, {"d": "4"}]),
    ("a IN ('1', 'it''s')", [{"a": "1"}, {"a": "it's"}], [{}, {"a": "it"}, {"a": "1, it's"}, {"b": "1"}]),
    ("a LIKE '1%3'", [{"a": "13"}, {"a": "12993"}, {"a": "1\n3"}], [{}, {"a": "1234"}, {"a": "013"}]),
    ("a LIKE 'l_se'", [{"a": "lose"}, {"a": "l.se"}], [{}, {"a": "loose"}, {"a": "lse"}, {"a": "LOSE"}]),
    ("a LIKE '1.%'", [{"a": "1."}, {"a": "1.%"}], [{"a": "1"}, {"a": "123"}]),
    ("a BETWEEN 5 AND 12", [{"a": "5"}, {"a": "12"}, {"a": "9"}, {"a": "012"}], [{}, {"a": "4"}, {"a": "13"}]),
    ("a BETWEEN 0 AND 9", [{"a": "0"}], [{}, {"a": ""}, {"a": "5.0"}, {"a": " 5"}, {"a": "five"}, {"a": "9" * 5000}]),
    ("a BETWEEN 1 AND 2 AND b = '1'", [{"a": "2", "b": "1"}], [{"a": "2"}, {"b": "1"}]),
    ("a IS NULL", [{}, {"b": ""}], [{"a": ""}, {"a": "NULL"}]),
    ("JMSCorrelationID = '#0'", [{"JMSCorrelationID": "#0"}], [{}, {"correlation-id": "#0"}]),
    ("a in('1')Or b liKe '2%' or c between 3 and 4 or d is null", [{}, {"d": "", "c": "3"}], [{"d": "", "a": "2"}]),
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
    ("", "expected a property name or '(', found the end"),
    ("a", "expected one of = IN LIKE BETWEEN IS after a, found the end"),
    ("a =", "expected 'text', found the end"),
    ("a = b", "expected 'text', found 'b' at position 4"),
    ("a = 1", "expected 'text', found '1' at position 4"),
    ("a = 'b", 'cannot read " \'b" at position 3'),
    ("a-b = 'c'", "at position 1"),
    ("1a = 'c'", "cannot read \"1a = 'c'\" at position 0"),
    ("'a' = 'b'", "expected a property name or '(', found 'a' at position 1"),
    ("a = 'b' c = 'd'", "expected AND, OR or the end, found 'c' at position 8"),
    ("OR a = 'b'", "found 'OR' at position 0"),
    ("like = 'b'", "expected a property name or '(', found 'like' at position 0"),
    ("(a = 'b'", "expected AND, OR or ')', found the end"),
    ("(a = 'b', b = 'c')", "expected AND, OR or ')', found ',' at position 8"),
    ("a = 'b')", "expected AND, OR or the end, found ')' at position 7"),
    ("a IN 'b'", "expected '(', found 'b' at position 6"),
    ("a IN ()", "expected 'text', found ')' at position 6"),
    ("a IN ('b' 'c')", "expected ',' or ')', found 'c' at position 11"),
    ("a NOT IN ('b')", "expected one of = IN LIKE BETWEEN IS after a, found 'NOT' at position 2"),
    ("a LIKE b", "expected 'pattern', found 'b' at position 7"),
    ("a LIKE 'b!_' ESCAPE '!'", "expected AND, OR or the end, found 'ESCAPE' at position 13"),
    ("a BETWEEN 1, 2", "expected AND, found ',' at position 11"),
    ("a BETWEEN '1' AND '2'", "expected an integer, found '1' at position 11"),
    ("a BETWEEN -1 AND 2", "at position 9"),
    ("a BETWEEN 2 AND 1", "a BETWEEN: expected 0 <= low <= high <= 2147483647, got 2 and 1"),
    ("a BETWEEN 0 AND 9999999999999999999", "got 0 and 9999999999999999999"),
    ("a BETWEEN 0 AND 99999999999999999999", "at position 15"),
    ("a IS NOT NULL", "expected NULL, found 'NOT' at position 5"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_the_grammar_does_not_have_is_refused(text, message):
    """The error quotes the selector and names the place and what was expected there."""
    with pytest.raises(WorkloadError, match=re.escape(message)) as caught:
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
