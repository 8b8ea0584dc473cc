"""Names in the source."""

import re
from collections import Counter
from pathlib import Path

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


def test_a_protocol_is_named_at_home_only():
    """A second protocol changes nothing else: neither the name of the first one nor its words occur elsewhere."""
    named = {
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if not OF_STOMP.fullmatch(str(path.relative_to(ROOT)))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if WORDS_OF_STOMP.search(line)
    }

    assert named == set()
