"""Words that readers of English as a second language trip over: `make check` looks for them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
READ = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "configs/**/*.yaml",
    "harness/**/*.py",
    "harness/**/*.js",
]
INSTEAD = {
    "anew": "again",
    "begun": "started",
    "beforehand": "before",
    "dear": "expensive",
    "forthwith": "at once",
    "handed": "passed, given",
    "heard": "received",
    "hence": "so",
    "henceforth": "from now on",
    "herein": "here",
    "hitherto": "until now",
    "hopeless": "tripped",
    "lest": "so that ... not",
    "nigh": "near",
    "nought": "0",
    "reckoned": "calculated",
    "thereby": "by that",
    "therein": "in it",
    "thereof": "of it",
    "thrice": "three times",
    "told": "reported, said",
    "underway": "in progress",
    "unheard": "without a verdict",
    "whence": "from where",
    "whereby": "by which",
    "whereof": "of which",
    "whither": "where to",
}
WORD = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)


def findings() -> Iterator[str]:
    """Yield a line for each place: file, line number, the word, and what to write."""
    for pattern in READ:
        for path in sorted(ROOT.glob(pattern)):
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                for word in WORD.findall(line):
                    name = path.relative_to(ROOT)
                    yield f"{name}:{number}: {word}: write {INSTEAD[word.lower()]}"


if __name__ == "__main__":
    FOUND = list(findings())
    print(*FOUND, sep="\n")
    sys.exit(bool(FOUND))
