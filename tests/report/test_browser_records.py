"""What the question browser reads is the stored run: every field, every text, nothing else."""

from dataclasses import asdict, replace

import pytest

from harness import api
from harness.config.run_config import load
from harness.records import (
    AnswerSample,
    Arrival,
    Failure,
    Missed,
    PassageFacts,
    Score,
    Verdict,
)
from harness.report.browser_data import pack_page
from harness.report.browser_records import (
    choose_first,
    count_going_on,
    describe_arrival,
    script_json,
    true_rank,
)
from harness.report.run_view import View
from harness.report.sections import questions
from harness.runs import runner
from harness.runs.outcomes import context_text, span_key
from harness.store import reader
from tests.support.packed_data import Data
from tests.support.small import QUESTIONS, project

HOSTILE = [
    "<script>window.__pwned = 1</script>",
    "</script><!-- <![CDATA[",
    "$& $1 {{ 7 * 7 }}",
    "\u202eright to left\u202c 🚲 behind an emoji",
    "null\x00byte and \u2028 and \x7f",
    "a long line " * 4_000,
]
DEEP = "not whole in what was retrieved:"
STAGES = ["none", "chunking", "index", "retrieval", "reranking", "context", "generation"]


def run(folder, documents=(), **changes):
    config = project(folder, **changes)
    for name, text in documents:
        (folder / "corpus" / name).write_text(text, encoding="utf-8")
    finished = api.run(runner.prepare(load(config, [], {})), lambda *_: None)
    return reader.load(finished.folder)


def changed(stored, at=0, **changes):
    """Return the run with fields of one record changed."""
    records = list(stored.records)
    records[at] = replace(records[at], **changes)
    return replace(stored, records=tuple(records))


def found(stored, at=0):
    """Return what the page has of a record of the run."""
    record, data, view = stored.records[at], Data(stored), View(stored)
    cell = [cell.name for cell in view.cells].index(record.cell)
    return data.record(cell, list(stored.questions).index(record.question))


def check(stored):
    """Compare every record of the page with the stored run, field by field."""
    view, data = View(stored), Data(stored)
    by_place = {(record.cell, record.question): record for record in stored.records}
    labels = stored.run.provenance.labels
    questions, answered = data.part("questions"), 0
    lost = data.part("lost")
    assert questions["id"] == list(stored.questions)
    for number, line in enumerate(stored.questions.values()):
        said = {key: values[number] for key, values in questions.items()}
        passages = [
            {**asdict(each.span), "text": each.text, "group": each.group, "grade": each.grade}
            for each in line.passages
        ]
        known = {"answers": list(line.answers), "keywords": list(line.keywords)}
        assert said == {key: getattr(line, key) for key in said} | known | {"passages": passages}
    for at, cell in enumerate(view.cells):
        answers = data.part(f"answers-{at}")
        for number, question in enumerate(stored.questions):
            record, said = by_place.get((cell.name, question)), data.record(at, number)
            if record is None:
                assert said is None
                assert answers[number] is None
                continue
            answered += 1
            hits = [(h.doc, h.start, h.end, _text(stored, h), h.grade) for h in record.hits]
            assert said["hits"] == hits
            scores = [hit.score for hit in record.hits]
            largest = max(map(abs, scores), default=0.0)
            assert said["similarities"] == pytest.approx(scores, abs=1e-5 * largest)
            assert said["context"] == context_text(record, stored.texts)
            assert (said["answer"], said["declined"]) == (record.answer, record.declined)
            assert answers[number] == record.answer
            assert said["searched"] == list(record.searched)
            assert said["without"] == record.without_evidence
            there = record.held_in and any(hit.doc == record.held_in.doc for hit in record.hits)
            place = span_key(record.held_in) if there else None
            assert _held(said) == place
            assert said["lost"] == record.lost_at
            stage = record.lost_at and STAGES.index(record.lost_at)
            assert lost[at][number] == (stage if record.error is None else -1)
            assert said["seconds"] == pytest.approx(record.seconds, rel=1e-2)
            missed = [
                (*span_key(m), _text(stored, m), m.grade, true_rank(m.rank, record.traced_to))
                for m in record.missed
            ]
            assert said["missed"] == missed
            for known, arrival in zip(said["passages"], record.passages, strict=True):
                words = describe_arrival(arrival, record.traced_to, count_going_on(view, cell))
                assert known == {"group": arrival.group, "stage": arrival.stage, "said": words}
            judged = record.judged.get(labels)
            inventory = judged and judged.inventory and list(judged.inventory)
            known = judged and {"grades": list(judged.grades), "inventory": inventory}
            assert said["judged"] == known
            _check_scores(view, data, record, said, at, number)
    assert answered == len(stored.records)


def _held(said):
    """Return the stretch of the document in which the answer was held."""
    if said["held"] is None:
        return None
    at, start, end = said["held"]
    doc, first, *_ = said["hits"][at]
    return doc, first + start, first + end


def _check_scores(view, data, record, said, cell, question):
    letters = {"scored": "", "not_scored": "n", "failed": "f", "metric_failed": "m"}
    for metric, name in enumerate(view.metrics):
        score, scores = record.scores[name], data.part(f"scores-{metric}")
        for value in (said[f"value-{metric}"], scores["values"][cell][question]):
            assert value == (score.value and pytest.approx(score.value, rel=1e-5))
        state = letters[score.state]
        assert (said[f"state-{metric}"], scores["states"][cell][question]) == (state, state)
        assert said[f"reason-{metric}"] == (score.reason or _followed(view, record, name))


def _followed(view, record, name):
    """What a score follows from where the record does not say: counted from the grades alone."""
    metric = view.ranked.get(name)
    judged = metric and record.judged.get(metric.labels or view.run.provenance.labels)
    if not judged or record.scores[name].value is None:
        return ""
    first = judged.grades[: metric.k]
    ranks = [str(at) for at, grade in enumerate(first, start=1) if (grade or 0) >= metric.rel]
    said = (
        f"relevant of the first {len(first)}: {'at rank ' + ', '.join(ranks) if ranks else 'none'}"
    )
    there = sum(grade >= metric.rel for grade in judged.inventory or ())
    return f"{said}; {there} in all" if metric.uses_inventory else said


def _text(stored, line):
    return stored.texts[(line.doc, line.start, line.end)]


class TestTheWholeRun:
    def test_of_several_cells(self, many):
        check(many)

    def test_with_hostile_texts_in_all_places(self, tmp_path):
        rows = [
            {**QUESTIONS[0], "id": f"h{at}", "question": f"{text[:200]} pass?", "answers": [text]}
            for at, text in enumerate(HOSTILE)
        ]
        stored = run(tmp_path, [("evil.md", "\n\n".join(HOSTILE))], questions=rows)

        check(stored)
        assert "<" not in Data(stored).packed.index
        assert any("🚲" in text for text in stored.texts.values())
        said = "".join(stored.texts.values())
        for text in HOSTILE:
            assert "".join(text[:60].split()) in "".join(said.split())

    def test_that_was_interrupted(self, many):
        check(replace(many, records=many.records[:7]))

    def test_with_no_record_at_all(self, many):
        bare = replace(many.run, cells=[], status="failed")
        data = Data(replace(many, run=bare, records=()))

        assert (data.index["cells"], data.index["ten"]) == ([], [])


class TestOneRecord:
    def test_that_failed(self, many):
        failed = dict.fromkeys(many.records[0].scores, Score(value=None, state="failed"))
        error = Failure(stage="generation", reason="429 Too Many Requests")
        stored = changed(many, error=error, scores=failed, answer=None, lost_at=None)

        check(stored)
        assert found(stored)["error"] == {"stage": "generation", "reason": "429 Too Many Requests"}

    def test_with_what_was_missed_and_why(self, many):
        spot = many.records[0].hits[0]
        missed = Missed(doc=spot.doc, start=spot.start, end=spot.end, grade=2, rank=None)
        facts = PassageFacts(pieces=2, largest=0.625, exact_rank=31, rank=None, cut_at=None)
        arrival = Arrival(group="g1", stage="retrieval", facts=facts)
        stored = changed(
            many, missed=(missed,), passages=(arrival,), lost_at="retrieval", traced_to=1000
        )

        check(stored)

    def test_with_a_judges_replies_in_full(self, many):
        replies = ["x" * 5_000, '{"verdict": 1} </script>']
        verdict = Verdict(of="claim 1", value=1, reason="it says so", replies=replies)
        name = "token_f1"
        score = replace(many.records[0].scores[name], verdicts=[verdict])
        stored = changed(many, scores={**many.records[0].scores, name: score})

        number = View(stored).metrics.index(name)
        wanted = [{"of": "claim 1", "value": 1, "reason": "it says so", "replies": replies}]
        assert found(stored)[f"verdicts-{number}"] == wanted

    def test_with_half_a_surrogate_pair(self, many):
        stored = changed(many, answer="\ud800 and \\\udc00")

        assert found(stored)["answer"] == "\ud800 and \\\udc00"


class TestPacking:
    def test_equal_runs_give_equal_bytes(self, many):
        again = reader.load(many.folder)

        assert pack_page(View(again)) == pack_page(View(many))

    def test_the_index_cannot_end_its_element(self):
        assert script_json({"a": "</script>"}) == '{"a":"\\u003c/script>"}'


@pytest.fixture(scope="module")
def full(many):
    """A run in whose first record there is something of all that can be left out."""
    scores = {
        name: replace(score, verdicts=[Verdict(of="v", value=1, reason="", replies=["r" * 999])])
        for name, score in many.records[0].scores.items()
    }
    samples = [AnswerSample(answer="s" * 99, declined=False, usage=None, scores={**scores})]
    return changed(many, scores=scores, samples=samples, context="c" * 99, prompt=f"p {'c' * 99}")


class TestRoom:
    def test_what_there_is_none_for_is_named_and_the_rest_is_there(self, full):
        data = Data(full, max_characters=0)
        cell = [c.name for c in View(full).cells].index(full.records[0].cell)
        said = data.record(cell, list(full.questions).index(full.records[0].question))

        kinds = ["reasons", "verdicts", "samples", "prompts", "contexts"]
        assert data.index["left_out"] == kinds
        assert (said["reason-0"], said["verdicts-0"], said["samples"]) == ("", [], [])
        assert (said["prompt"], said["context"]) == (None, None)
        assert [hit[3] for hit in said["hits"]] == [_text(full, h) for h in full.records[0].hits]


class TestTheIndex:
    def test_says_what_the_cells_and_metrics_are(self, many):
        index, view = Data(many).index, View(many)

        assert [cell["name"] for cell in index["cells"]] == [view.name(c) for c in view.cells]
        assert [metric["name"] for metric in index["metrics"]] == view.metrics
        assert index["metrics"][index["by"]]["name"] == "passage_recall@2"
        assert index["metrics"][index["second"]]["name"] == "token_f1"
        assert (index["chunks"], index["level"]) == (2, 1)
        assert index["stages"] == STAGES
        assert index["left_out"] == []

    def test_names_ten_to_read_a_stage_in_turn_and_the_worst_of_each_first(self, many):
        best = View(many).shipped or View(many).best
        at = [number for number, r in enumerate(many.records) if r.cell == best.name]
        stages = ["generation", "retrieval", "retrieval", "chunking", None]
        values = [0.5, 0.25, 0.0, 1.0, 0.75]
        stored = many
        for number, stage, value in zip(at, stages, values, strict=True):
            scores = dict.fromkeys(many.records[number].scores, Score(value=value))
            stored = changed(stored, number, lost_at=stage, scores=scores, error=None)
        asked = [many.records[number].question for number in at]

        # chunking, retrieval (0 before 0.25), generation; then what no stage lost
        wanted = [asked[3], asked[2], asked[0], asked[1], asked[4]]
        assert [record.question for record in choose_first(View(stored))] == wanted


class TestTheQuestionsSection:
    def test_says_where_a_question_was_lost_and_what_moved(self, many):
        best = View(many).shipped or View(many).best
        at = next(number for number, r in enumerate(many.records) if r.cell == best.name)
        facts = PassageFacts(rank=3, reranked=9)
        arrival = Arrival(group="1", stage="reranking", facts=facts)
        hits = many.records[at].hits
        stored = changed(
            many, at, passages=[arrival], lost_at="reranking", candidates=hits[1:] + hits[:1]
        )
        (browser,) = questions.blocks(View(stored))
        (fold,) = [f for f in browser.worst[1:] if f.title.startswith(many.records[at].question)]

        assert fold.blocks[0].label == "Lost at"
        assert fold.blocks[0].text == "reranking: whole at rank 3 before reranking, at 9 after"
        ranks = [block.label for block in fold.blocks if getattr(block, "label", "")[:4] == "Rank"]
        assert ranks[0].startswith(f"Rank 1 ({len(hits)} before reranking): ")
