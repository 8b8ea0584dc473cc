"""Names in the source."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("brokerbench", "workloads", "fixtures", "analysis", "microbench")


def test_no_two_classes_have_the_same_name():
    """Who meets a name anywhere knows which class it is."""
    texts = [path.read_text(encoding="utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    names = Counter(name for text in texts for name in re.findall(r"^ *class (\w+)[(:\[]", text, re.MULTILINE))

    assert len(names) > 100
    assert {name: count for name, count in names.items() if count > 1} == {}


#: The places of a protocol: its package, the registry, the brokers that speak it, and the second client.
OF_STOMP = re.compile(
    r"fixtures/(wire/stomp/.*|wire/protocols|brokers/(activemq|artemis|rabbitmq\w*)|load/throughput/stomp_\w+)\.py"
)
#: The name of the protocol, and of headers and frames that no other protocol has; stomp.py is a library.
WORDS_OF_STOMP = re.compile(
    r"(?i:stomp(?!\.py|_?py|_link))|\b(message-id|receipt-id|accept-version|content-length|activemq\.prefetchSize)\b"
    r"|\bCONNECTED\b|\bSEND frame"
)


def lines_with(words, allowed):
    """Lines of the source with one of the words, but for those of the allowed files."""
    return {
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if not allowed.fullmatch(str(path.relative_to(ROOT)))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if words.search(line)
    }


def test_a_protocol_is_named_at_home_only():
    """A second protocol changes nothing else: neither the name of the first one nor its words occur elsewhere."""
    assert lines_with(WORDS_OF_STOMP, OF_STOMP) == set()


#: Words that the source had for what has a usual name -> that name, and the files in which the word means something
#: else: a fault that a user asks the suite's own broker for, and peers that have not shown who they are.
REPLACED = {
    r"book(s|ed|ing)?": ("count, scan or note", ""),
    r"a?strays?|strange": ("misdelivered, unsent", r"fixtures/(reference/\w+|brokers/reference_process)\.py"),
    r"amiss": ("anomalies, problem", ""),
    r"strangers?": ("unplanned", r"fixtures/load/hosts/hub\.py"),
    r"glance": ("overview", ""),
    r"enactments?": ("planned", ""),
}


@pytest.mark.parametrize(("word", "instead"), REPLACED.items(), ids=REPLACED)
def test_a_replaced_word_does_not_come_back(word, instead):
    """One word for one thing, also as a part of a name: readers know it from elsewhere, or from the report."""
    usual, other_meaning = instead
    found = re.compile(rf"(?i:(?<![a-z])({word})(?![a-z]))")

    assert lines_with(found, re.compile(other_meaning)) == set(), f"say {usual}"
