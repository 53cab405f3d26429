"""Stands in for an application of your own: it searches a folder by the words of a question."""

import math
import re
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "corpora" / "insurellm"


def words(text):
    """Return the different words of a text."""
    return set(re.findall(r"\w+", text.lower()))


SECTIONS = [
    {"id": path.relative_to(FOLDER).as_posix(), "text": section, "words": words(section)}
    for path in sorted(FOLDER.rglob("*.md"))
    if path.name != "card.md"
    for section in re.split(r"\n(?=#)", path.read_text(encoding="utf-8"))
]
COUNTS = Counter(word for section in SECTIONS for word in section["words"])


def ask(question):
    """Return the five sections that share the rarest words with the question, and the best one."""

    def shared(section):
        both = words(question) & section["words"]
        return sum(math.log(len(SECTIONS) / COUNTS[word]) for word in both)

    found = sorted(SECTIONS, key=shared, reverse=True)[:5]
    return found, found[0]["text"]
