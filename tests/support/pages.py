"""A page of the report as its reader gets it, and what the tests expect on a terminal in full."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

_SCREENS = Path(__file__).parents[1] / "analysis" / "screens"


def screen(name):
    """The text of an expected screen, without the end of its last line."""
    return (_SCREENS / name).read_text(encoding="utf-8").removesuffix("\n")


class Page(HTMLParser):
    """Identifiers, links, and the text of the page with its tags left out."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.words = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in {"href", "src", "xlink:href", "action", "data"}]

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def words(page):
    """What a page says: a line for each line of the body that has words, cells apart.

    Without its drawings, and without what it copies from the manifest and the workload's rules.
    """
    body = re.sub(r"<svg.*?</svg>", "", page[page.index("<body>") :], flags=re.DOTALL)
    body = re.sub(r'<section id="[^"]*-setup">.*(?=<section id="reading">)', "", body, flags=re.DOTALL)
    lines = (re.sub(r"</t[hd]>(?=<t[hd])", " | ", line) for line in body.splitlines())
    texts = (unescape(re.sub(r"<[^>]*>", "", line)).strip() for line in lines)
    return "\n".join(text for text in texts if text)
