"""`page/data.js` in a browser: what it unpacks is the stored run, text by text."""

from pathlib import Path

import pytest

from harness import api, report
from harness.config.run_config import load
from harness.report.browser_data import pack_page
from harness.report.run_view import View
from harness.runs import runner
from harness.runs.outcomes import context_text
from harness.store import reader
from tests.support.browser import opened
from tests.support.packed_data import Data
from tests.support.small import QUESTIONS, project

PAGE = Path(report.__file__).parent / "page"
SCRIPTS = (PAGE / "data.js", PAGE / "dom.js")
HOSTILE = [
    "</script><script>window.__pwned = 1</script>",
    "🚲🚲 two emoji, and \u202eright to left\u202c behind them",
    "null\x00byte, \u2028 and \x7f, $& and <!-- {{ 7 * 7 }}",
    "a long line 🚲 " * 4_000,
]
ALL = """async () => {
  const asked = await data.questions();
  const lost = await data.lost();
  const cells = await Promise.all(data.index.cells.map(async ({ name }, cell) => ({
    name,
    lost: lost[cell],
    answers: await data.answersOf(cell),
    records: await Promise.all(asked.id.map((_, question) => data.record(cell, question))),
  })));
  return { asked, cells, pwned: window.__pwned ?? null };
}"""


def page_of(stored, folder):
    data = pack_page(View(stored))
    parts = "".join(
        f'<script type="text/plain" id="part-{name}">{packed}</script>'
        for name, packed in data.parts.items()
    )
    script = "".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
    given = "globalThis.data = { index, questions, scores, lost, answersOf, record };"
    page = folder / "data.html"
    page.write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>data</title></head>'
        f'<body><script type="application/json" id="index">{data.index}</script>{parts}'
        f'<script>"use strict";{script}{given}</script></body></html>',
        encoding="utf-8",
    )
    return page


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A run with hostile texts."""
    folder = tmp_path_factory.mktemp("data")
    rows = [
        {**QUESTIONS[0], "id": f"h{at}", "question": f"{text[:99]} pass?", "answers": [text]}
        for at, text in enumerate(HOSTILE)
    ]
    config = project(folder, questions=[*rows, *QUESTIONS])
    for at, text in enumerate(HOSTILE):
        evil = f"# Pass\n\n{text}\n\nA day pass, {text[:30]}, costs 7 dollars.\n"
        (folder / "corpus" / f"evil{at}.md").write_text(evil, encoding="utf-8")
    finished = api.run(runner.prepare(load(config, [], {})), lambda *_: None)
    return reader.load(finished.folder)


@pytest.fixture(scope="module")
def opened_page(stored, tmp_path_factory, browser):
    with opened(browser, page_of(stored, tmp_path_factory.mktemp("page"))) as page:
        yield page


def test_every_record_is_the_stored_one(stored, opened_page):
    view, data, found = View(stored), Data(stored), opened_page.evaluate(ALL)

    assert found["asked"]["text"] == [line.text for line in stored.questions.values()]
    assert found["asked"]["answers"] == [[*line.answers] for line in stored.questions.values()]
    assert [cell["name"] for cell in found["cells"]] == [view.name(cell) for cell in view.cells]
    assert found["pwned"] is None
    seen = set()
    for at, (cell, said) in enumerate(zip(view.cells, found["cells"], strict=True)):
        records = view.records(cell)
        assert said["answers"] == [record.answer for record in records]
        for number, (record, its) in enumerate(zip(records, said["records"], strict=True)):
            places = [(hit.doc, hit.start, hit.end) for hit in record.hits]
            assert [(h["doc"], h["start"], h["end"]) for h in its["hits"]] == places
            assert [h["text"] for h in its["hits"]] == [stored.texts[place] for place in places]
            assert [h["grade"] for h in its["hits"]] == [hit.grade for hit in record.hits]
            largest = max((abs(hit.score) for hit in record.hits), default=0.0)
            scores = pytest.approx([hit.score for hit in record.hits], abs=1e-5 * largest)
            assert [h["score"] for h in its["hits"]] == scores
            missed = [(m.doc, m.start, m.end, m.grade) for m in record.missed]
            keys = ("doc", "start", "end", "grade")
            assert [tuple(m[key] for key in keys) for m in its["missed"]] == missed
            assert its["context"] == context_text(record, stored.texts)
            assert (its["answer"], its["declined"]) == (record.answer, record.declined)
            assert (its["lost"], its["without"]) == (record.lost_at, record.without_evidence)
            packed = data.record(at, number)
            assert its["passages"] == packed["passages"]
            reasons = [packed[f"reason-{metric}"] for metric in range(len(view.metrics))]
            assert [score["reason"] for score in its["scores"]] == reasons
            values = [record.scores[name].value for name in view.metrics]
            assert [score["value"] for score in its["scores"]] == [
                value and pytest.approx(value, rel=1e-5) for value in values
            ]
            seen.update(each["prompt"] for each in its["hits"])
    assert "whole" in seen


def test_judged_rankings_have_their_grades_and_their_inventory(stored, opened_page):
    view, found = View(stored), opened_page.evaluate(ALL)

    for cell, said in zip(view.cells, found["cells"], strict=True):
        for record, its in zip(view.records(cell), said["records"], strict=True):
            judged = record.judged.get("evidence")
            if judged is None:
                assert its["judged"] is None
                continue
            assert its["judged"]["grades"] == list(judged.grades)
            assert its["judged"]["inventory"] == list(judged.inventory)


def test_texts_are_cut_by_characters_and_not_by_their_halves(stored, opened_page):
    found = opened_page.evaluate(ALL)
    hits = [h for cell in found["cells"] for record in cell["records"] for h in record["hits"]]
    with_emoji = [hit for hit in hits if "🚲" in hit["text"]]

    assert any(hit["start"] > 0 for hit in with_emoji)
    assert all(len(hit["text"]) == hit["end"] - hit["start"] for hit in hits)


def test_a_browser_that_cannot_unpack_is_told_so(stored, tmp_path, browser):
    with opened(browser, page_of(stored, tmp_path)) as page:
        said = page.evaluate(
            "() => { delete globalThis.DecompressionStream;"
            " return data.questions().catch((error) => error.message); }"
        )

    assert "DecompressionStream is missing" in said
    assert "report.md" in said


def test_a_page_with_a_part_torn_out_says_which(stored, tmp_path, browser):
    with opened(browser, page_of(stored, tmp_path)) as page:
        said = page.evaluate(
            "() => { document.getElementById('part-lost').remove();"
            " return data.lost().catch((error) => error.message); }"
        )

    assert said == "This page lacks its part lost: it is damaged."
