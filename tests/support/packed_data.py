"""Reads what a page embeds back into records, by the same rules as `page/data.js`."""

import base64
import gzip
import json
from bisect import bisect_right
from functools import cache
from itertools import accumulate

from harness.report.browser_data import pack_page
from harness.report.run_view import View

SEPARATOR = "\n\n"


class Data:
    """The index and the parts of one run's page."""

    def __init__(self, stored, **options):
        self.packed = pack_page(View(stored), **options)
        self.index = json.loads(self.packed.index)

        self.part = cache(self._part)

    def _part(self, name):
        return json.loads(gzip.decompress(base64.b64decode(self.packed.parts[name])))

    def chunk(self, number):
        """Return document, start, end and text."""
        page = bisect_right(self.index["spans"], number) - 1
        part, at = self.part(f"texts-{page}"), number - self.index["spans"][page]
        return tuple(part[name][at] for name in ("doc", "start", "end", "text"))

    def record(self, cell, question):
        """Return the fields of a record, as far as they are packed; None where it is not there."""
        page, at = divmod(question, self.index["per_page"])
        part = self.part(f"records-{page}")
        row = part["rows"][at][cell]
        if row < 0:
            return None
        said = {name: column[row] for name, column in part["columns"].items()}
        found = zip(said["hits"], said["hitGrades"], strict=True)
        said["hits"] = [(*self.chunk(number), grade) for number, grade in found]
        decimals, *drops = said["similarities"]
        said["similarities"] = [-total / 10**decimals for total in accumulate(drops)]
        said["answer"] = self.part(f"answers-{cell}")[question]
        for metric in range(len(self.index["metrics"])):
            scores = self.part(f"scores-{metric}")
            said[f"value-{metric}"] = scores["values"][cell][question]
            said[f"state-{metric}"] = scores["states"][cell][question]
        said["missed"] = [
            (*self.chunk(line["chunk"]), line["grade"], line["missing"]) for line in said["missed"]
        ]
        if isinstance(said["context"], list):
            count, length = said["context"]
            texts = [text for _, _, _, text, _ in said["hits"][:count]]
            said["context"] = SEPARATOR.join([*texts[:-1], texts[-1][:length]])
        return said
