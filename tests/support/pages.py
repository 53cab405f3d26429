"""A page taken apart, as a test looks at it: its tags, attributes, links, scripts and text."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """What is in a page; `scripts` has the type of each, "ours" where it has none."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.links, self.scripts = set(), set(), [], []
        self.text = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        self.links += [value for name, value in attributes if name == "href" and tag == "a"]
        if tag == "script":
            self.scripts.append(dict(attributes).get("type", "ours"))

    def handle_data(self, data):
        self.text.append(data)
