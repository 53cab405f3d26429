"""Forms and what people saved of them, for a stored run: written as a form's page would."""

import json

from harness.people.rating_forms import FORM_KEYS, FORMS, FormFile, FormItem
from harness.records import Span

OVERALL = ("poor", "fair", "good", "excellent")


def form(stored, wanted, id_="form1", raters=2, run=None):
    """Write the key of a form of these (question, cells) into the run's folder, for all raters."""
    hits = {(record.cell, record.question): record.hits[:2] for record in stored.records}
    key = FormFile(
        id=id_,
        run=run or stored.run.id,
        seed=7,
        raters=raters,
        items=tuple(
            FormItem(
                item=f"i{at}",
                cells=tuple(cells),
                question=question,
                chunks=tuple(Span(hit.doc, hit.start, hit.end) for hit in hits[cells[0], question]),
                raters=tuple(range(1, raters + 1)),
            )
            for at, (question, cells) in enumerate(wanted)
        ),
    )
    path = stored.folder / FORMS / f"{id_}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(FORM_KEYS.data(key)), encoding="utf-8")
    return key


def item(name, grade=None, chunks=(), **more):
    """Return one item as it is saved: one grade for everything that is not named."""
    said = dict.fromkeys(("correctness", "directness", "completeness", "helpfulness"), grade)
    said["overall"] = None if grade is None else OVERALL[grade]
    return {"item": name, "chunks": list(chunks), **said, "comment": "", **more}


def saved(path, items, rater=1, form_="form1", at="2025-11-21T10:00:00.000Z", **more):
    """Write what one person saved of a form; return the path."""
    data = {"harness_ratings": 1, "form": form_, "rater": rater, "name": "", "saved": at}
    path.write_text(json.dumps({**data, "items": items, **more}), encoding="utf-8")
    return path
