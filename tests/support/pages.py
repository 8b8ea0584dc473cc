"""A page of the report as its reader gets it."""

from html.parser import HTMLParser


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
