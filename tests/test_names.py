"""Names in the source."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("workloads", "fixtures", "analysis", "microbench")


def test_no_two_classes_have_the_same_name():
    """Who meets a name anywhere knows which class it is."""
    texts = [path.read_text(encoding="utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    names = Counter(name for text in texts for name in re.findall(r"^ *class (\w+)[(:\[]", text, re.MULTILINE))

    assert len(names) > 100
    assert {name: count for name, count in names.items() if count > 1} == {}
