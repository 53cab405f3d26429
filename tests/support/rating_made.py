"""Stored runs whose answers a test chose, and forms made of them."""

from dataclasses import replace

from harness.people import rating_forms
from harness.records import Failure, StoredHit
from tests.support import runs_made


def answered(cells, questions, answer="{cell} says {question}", chunks=2, failed=(), silent=()):
    """Return a run in which each cell answers each question from chunks of its own.

    `answer` is the answer to all, made of `cell` and `question`; `chunks` says how
    many. `failed` and `silent` are pairs of a cell and a question.
    """
    stored = runs_made.stored({cell: {"token_f1": [1.0] * questions} for cell in cells})
    records, texts = [], {}
    for line in stored.records:
        at = cells.index(line.cell) * 1000
        spans = [(f"{line.question}.md", at + 10 * n, at + 10 * n + 9) for n in range(chunks)]
        made = {span: f"{span[0]} {span[1]:06}" for span in spans}
        pair = line.cell, line.question
        change = {
            "hits": [
                StoredHit(doc=doc, start=start, end=end, score=1 / (1 + rank))
                for rank, (doc, start, end) in enumerate(spans)
            ],
            "context": "\n\n".join(made.values()),
            "answer": answer.format(cell=line.cell, question=line.question),
        }
        if pair in failed:
            change |= {"error": Failure(stage="generation", reason="gone"), "answer": None}
        if pair in silent:
            change["answer"] = None
        records.append(replace(line, **change))
        texts |= made
    return replace(stored, records=tuple(records), texts=texts)


def chosen(stored, n=50, **wishes):
    """Return what is chosen of a run, as the command does it."""
    return rating_forms.choose_items(stored, n, **wishes)
