"""A run with graded evidence, and its ranking moved in a page and beside it in the same way."""

import pytest

from harness import api
from harness.config.run_config import load
from harness.metrics import named_metrics
from harness.ranking.relevance import judge_by_documents
from harness.records import Case, Chunk, Hit, Judged, Question, Span
from harness.runs import runner
from harness.store import reader
from tests.support import small

TOWNS = (
    "Aber", "Brin", "Cole", "Dorn", "Esk", "Fell", "Garth", "Holm",
    "Inver", "Keld", "Lund", "Marsh", "Ness", "Oak", "Pell", "Rye",
)  # fmt: skip
DOCUMENTS = {
    f"{town.lower()}.md": f"# {town} 🚲\n\nThe day pass of {town} costs {at} dollars in summer.\n\n"
    f"Riders show the day pass at each station of {town} before a ride.\n\n"
    + "In winter no town sells a pass by the day, and each ride is paid for by itself.\n"
    * (at % 3)
    for at, town in enumerate(TOWNS)
}
ELSEWHERE = {"notes.md": "# Notes\n\nNobody pays on Sundays.\n", "law.md": "# Law\n\nAge is 14.\n"}
GRADED = {"Brin": 1, "Fell": 3, "Keld": 2, "Pell": 1, "Rye": 3}
EVIDENCE = [
    {"doc": f"{town.lower()}.md", "quote": f"The day pass of {town} costs", "grade": grade}
    for town, grade in GRADED.items()
]
QUESTIONS = [
    {
        "id": "pass",
        "question": "How many dollars is the day pass in summer?",
        "answers": ["It depends."],
        "evidence": [
            *EVIDENCE,
            {"doc": "notes.md", "quote": "Nobody pays on Sundays.", "grade": 2},
            {"doc": "law.md", "quote": "Age is 14.", "grade": 1},
            {"doc": "oak.md", "quote": "each ride is paid for by itself.", "grade": 2},
        ],
        "documents": {"brin.md": 1, "esk.md": 3, "lund.md": 0, "pell.md": 2, "notes.md": 3},
    },
    {"id": "king", "question": "Who is the king of the day pass?", "answerable": False},
]
USUAL = ("ndcg@10", "mrr@10", "ap@10", "precision@5", "recall@5")
OWN = ("ndcg(gain=exponential)@7", "mrr@3", "ap", "precision@3", "recall(rel=3)@8")
RUNS = {
    "evidence": ({"metrics": list(USUAL)}, USUAL),
    "options": ({"metrics": list(OWN), "relevance_level": 2}, OWN),
    "documents": ({"metrics": list(USUAL), "labels": "documents"}, USUAL),
    "others": ({"metrics": ["hit_rate@2", "token_f1"]}, USUAL),
}
SHOWN = 20
DIVIDER = None
READ = """() => ({
  values: [...document.querySelectorAll(".measure b")].map((value) => Number(value.textContent)),
  documents: [...document.querySelectorAll(".hit:not(.out) .doc")].map((doc) => doc.textContent),
  ranks: [...document.querySelectorAll(".hit:not(.out) .rank")].map((rank) => rank.textContent),
  said: document.querySelector(".ranking [role=status]").textContent,
  focused: document.activeElement.getAttribute("aria-label"),
})"""


def run(folder, **changes):
    settings = {
        "chunkers": [{"fixed": {"size": 80}}],
        "retrievers": ["bm25"],
        "retrieve": 26,
        "context": {"chunks": 4, "tokens": 400},
    }
    path = small.project(folder, QUESTIONS, **{**settings, **changes})
    for name, text in {**DOCUMENTS, **ELSEWHERE}.items():
        (folder / "corpus" / name).write_text(text, encoding="utf-8")
    return api.run(runner.prepare(load(path, [], {})), lambda *_: None).folder


class Moved:
    """A ranking in the page, and beside it the same list moved in the same way."""

    def __init__(self, page, folder, specs):
        self.page = page
        stored = reader.load(folder)
        self.labels = stored.run.provenance.labels
        self.level = stored.run.config["resolved"]["relevance_level"]
        self.metrics = [
            named_metrics.build_metric(spec, self.labels, self.level).metric for spec in specs
        ]
        record = next(line for line in stored.records if line.question == "pass")
        self.scores = record.scores
        self.inventory = record.judged[self.labels].inventory
        hits = [(hit.doc, hit.start, hit.grade) for hit in record.hits]
        self.hidden = hits[SHOWN:]
        far = [hit for hit in self.hidden if (hit[2] or 0) >= self.level]
        self.below = far + [
            (each.doc, each.start, each.grade) for each in record.missed if each.grade >= self.level
        ]
        self.retrieved = [*hits[:SHOWN], DIVIDER, *self.below]
        self.order = self.retrieved

    @property
    def ranked(self):
        return self.order[: self.order.index(DIVIDER)]

    def move(self, hit, to):
        """Move a hit to a place of the list, or as near to it as it may go."""
        others = [other for other in self.order if other != hit]
        last = len(others) if hit in self.below else others.index(DIVIDER)
        at = min(max(to, 0), last)
        self.order = [*others[:at], hit, *others[at:]]

    def row(self, hit):
        at = [other for other in self.order if other is not DIVIDER].index(hit)
        return self.page.locator(".hit").nth(at)

    def press(self, hit, key):
        at = self.order.index(hit)
        places = {"ArrowUp": at - 1, "ArrowDown": at + 1, "Home": 0, "End": len(self.order)}
        self.row(hit).locator(".handle").press(key)
        self.move(hit, places[key])

    def case(self):
        hits = self.ranked + [hit for hit in self.hidden if hit not in self.ranked]
        if self.labels == "documents":
            made = [Hit(Chunk(0, Span(doc, at, at + 1), "x"), 0.0) for doc, at, _ in hits]
            judged = judge_by_documents(QUESTIONS[0]["documents"], made)
        else:
            judged = Judged(tuple(grade for *_, grade in hits), tuple(self.inventory))
        return Case(Question("pass", "?"), judged={self.labels: judged})

    def expected(self):
        """Return what the library says of the ranking as it is now."""
        case = self.case()
        return [metric.score(case).value for metric in self.metrics]

    def check(self):
        """See that the page shows this order and the library's values; returns what it shows."""
        found = self.page.evaluate(READ)
        assert found["documents"] == [doc for doc, *_ in self.ranked]
        assert found["ranks"] == [str(rank) for rank in range(1, len(self.ranked) + 1)]
        assert found["values"] == pytest.approx(self.expected(), abs=5.1e-5)
        return found
