"""Losses counted: over questions and groups, stored with each cell, and shown in the report."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from harness import report, runner, store
from harness.config import load
from harness.losses import answers, losses, separable, share
from harness.report import losing
from harness.report.blocks import Fold, PerCell
from harness.report.charts import flow
from harness.report.sections.losses import Losses
from harness.report.view import View
from harness.rescore import rescore
from harness.stored import ArrivalLine, FactsLine, FailureLine, IndexRecallLine
from tests.damage import unsealed
from tests.small import stored as run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GROUPS = ("chunking", "index", "retrieval", "reranking", "context")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return run(tmp_path_factory.mktemp("many"))


def arrived(*stages):
    return [
        ArrivalLine(group=str(at), stage=stage, facts=FactsLine())
        for at, stage in enumerate(stages)
    ]


PLANTED = {
    "day": ("none", ("retrieval", None)),
    "docks": ("retrieval", ("retrieval", "context", None)),
    "age": ("generation", (None,)),
    "helmet": (None, (None, None)),
}


def planted(stored, losing_cells=None):
    """Return the run with these losses in every cell, and no cell that says what it lost."""
    records = []
    for record in stored.records:
        lost_at, stages = PLANTED.get(record.question, (None, ()))
        lucky = lost_at == "none" and any(stages)
        update = {"lost_at": lost_at, "passages": arrived(*stages), "without_evidence": lucky}
        records.append(record.model_copy(update={**update, "error": None}))
    cells = [cell.model_copy(update={"losses": losing_cells}) for cell in stored.run.cells]
    about = stored.run.model_copy(update={"cells": cells})
    return replace(stored, run=about, records=tuple(records))


def counted(lines):
    return {name: line.count for name, line in lines.items() if line.count}


def own(stored, cell=0):
    name = stored.run.cells[cell].name
    return [record for record in stored.records if record.cell == name]


class TestCounting:
    def test_each_record_is_counted_once_and_groups_of_those_that_were_attributed(self, many):
        stored = planted(many)
        found = losses(own(stored), stored.questions)

        assert counted(found.questions) == {"none": 1, "retrieval": 1, "generation": 1}
        assert counted(found.groups) == {"retrieval": 2, "context": 1}
        # two of day, three of docks, one of age; helmet is not attributed
        assert {line.of for line in found.groups.values()} == {6}
        assert {line.of for line in found.questions.values()} == {3}
        assert (found.without_evidence, found.unknown, found.unanswerable) == (1, 1, 1)
        assert (found.failed, found.unlabelled, found.untold) == (0, 0, 0)

    def test_what_is_not_attributed_is_counted_by_its_reason(self, many):
        stored = planted(many)
        records = own(stored)
        gone = FailureLine(stage="generation", reason="gone")
        records[0] = records[0].model_copy(update={"error": gone, "lost_at": None})
        records[1] = records[1].model_copy(update={"lost_at": None, "passages": []})
        bare = stored.questions["age"].model_copy(update={"passages": []})
        found = losses(records, {**stored.questions, "age": bare})

        assert (found.failed, found.untold, found.unlabelled) == (1, 1, 1)
        assert (found.unknown, found.unanswerable) == (1, 1)
        assert {line.of for line in found.questions.values()} == {0}
        assert {(line.low, line.high) for line in found.groups.values()} == {(None, None)}

    def test_there_are_none_where_nothing_has_evidence(self, many):
        stored = planted(many)
        bare = {
            id_: line.model_copy(update={"passages": []}) for id_, line in stored.questions.items()
        }

        assert losses(own(stored), bare) is None
        assert losses([], {}) is None

    @pytest.mark.parametrize(("count", "of"), [(0, 1), (1, 1), (3, 8), (90, 156), (156, 156)])
    def test_shares_have_the_intervals_that_scipy_gives(self, count, of):
        theirs = stats.binomtest(count, of).proportion_ci(0.95, method="wilson")
        found = share(count, of)

        assert (found.count, found.of) == (count, of)
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)

    def test_a_stage_that_a_cell_has_not_is_not_separable_unless_it_lost_something(self, many):
        stored = planted(many)
        lost = losses(own(stored), stored.questions)
        cell = next(each for each in stored.run.cells if each.retriever == "bm25")
        own_system = cell.model_copy(update={"retriever": "none", "generator": "none"})
        silent = [each.model_copy(update={"answers": False}) for each in own(stored)]
        recall = IndexRecallLine(k=5, mean=1.0, questions=5)
        full = cell.model_copy(update={"reranker": "lexical", "index_recall": recall})

        assert separable(cell, lost, True) == ["chunking", "retrieval", "context", "generation"]
        assert separable(own_system, lost, True) == ["retrieval", "context", "generation"]
        assert separable(full, lost, True) == [*GROUPS, "generation"]
        assert "generation" in separable(cell, lost, False)
        none = lost.model_copy(update={"questions": {**lost.questions, "generation": share(0, 3)}})
        assert "generation" not in separable(cell, none, False)
        quiet = cell.model_copy(update={"generator": "none"})
        assert [answers(each, own(stored)) for each in (cell, own_system, quiet)] == [
            True, True, False,
        ]  # fmt: skip
        assert not answers(own_system, silent)


class TestStored:
    def test_a_run_has_them_and_they_are_those_of_its_records(self, many):
        for at, cell in enumerate(many.run.cells):
            found = losses(own(many, at), many.questions)
            assert cell.losses == found
            assert found.questions["none"].of == 4
            assert found.unanswerable == 1

    def test_scoring_again_leaves_them_as_they_are(self, many, tmp_path):
        folder = tmp_path / many.folder.name
        shutil.copytree(many.folder, folder)
        again = rescore(folder, ["hit_rate@1"])

        assert [cell.losses for cell in again.cells] == [cell.losses for cell in many.run.cells]
        assert all(cell.losses is not None for cell in again.cells)

    def test_an_older_run_that_lacks_them_shows_the_same_tables(self, many, tmp_path):
        folder = tmp_path / many.folder.name
        shutil.copytree(many.folder, folder)
        about = json.loads((folder / "run.json").read_text())
        for cell in about["cells"]:
            del cell["losses"]
        (folder / "run.json").write_text(json.dumps(about))
        records = map(json.loads, (folder / "records.jsonl").read_text().splitlines())
        lines = [{key: row[key] for key in row if key != "held_in"} for row in records]
        (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
        unsealed(folder)
        old = store.load(folder)

        assert {record.held_in for record in old.records} == {None}
        assert Losses().blocks(View(old)) == Losses().blocks(View(many))
        report.write(folder)
        assert "Questions by the first stage" in (folder / "report.md").read_text()


class TestTables:
    def test_cells_and_categories_have_counts_shares_and_intervals(self, many):
        view = View(planted(many))
        *_, fold, note, parts = Losses().blocks(view)
        table = next(each for each in Losses().blocks(view) if getattr(each, "caption", ""))

        assert table.head == [
            "Configuration", "Questions", "Answered", "Chunking", "Index", "Retrieval", "Context",
            "Generation",
        ]  # fmt: skip
        dense = next(row for row in table.rows if "dense" in row[0])
        bm25 = next(row for row in table.rows if "bm25" in row[0])
        assert dense[1] == "3"
        # 1 of 3 by Wilson: 0.0615 to 0.7923
        assert (dense[2].text, dense[2].note) == ("1", "33\u00a0% (6–79)")
        assert bm25[4] == "–"  # it has no index of vectors
        assert table.remarks[0] == (
            "1 arrived, with nothing to say what is right, 1 answered without all of the evidence"
        )
        assert isinstance(fold, Fold)
        (groups,) = fold.blocks
        assert [cell.text for cell in groups.rows[0][2:3]] == ["3"]  # of 6, 3 arrived
        assert note.text.endswith("to be lost there: reranking.")
        assert isinstance(parts, PerCell)
        assert parts.names == [view.name(cell) for cell in view.cells]
        by_category, folded = parts.blocks[0]
        assert [(row[0], row[1]) for row in by_category.rows] == [("fact †", "2"), ("rule †", "1")]
        assert by_category.caption.endswith(view.name(view.cells[0]))
        assert [(row[0], row[1]) for row in folded.blocks[0].rows] == [
            ("fact †", "5"), ("rule †", "1"),
        ]  # fmt: skip

    def test_cells_with_and_without_answers_each_have_a_column_of_their_own(self, many):
        stored = planted(many)
        found = {"age": "none"}  # where nothing answers, it cannot be lost at generation
        quiet = stored.run.cells[0].model_copy(update={"generator": "none"})
        records = tuple(
            each.model_copy(update={"lost_at": found.get(each.question, each.lost_at)})
            if each.cell == quiet.name
            else each
            for each in stored.records
        )
        about = stored.run.model_copy(update={"cells": [quiet, *stored.run.cells[1:]]})
        view = View(replace(stored, run=about, records=records))
        _, figure, *rest = Losses().blocks(view)
        table = next(each for each in rest if getattr(each, "caption", "").startswith("Questions"))
        (drawing,) = figure.drawings
        rows = {row[0]: row for row in table.rows}
        delivered = rows.pop(view.name(next(c for c in view.cells if c.name == quiet.name)))

        assert table.head[2:4] == ["Answered", "Delivered"]
        # Of `day`, `docks` and `age` two were delivered; the others' `age` is lost at generation.
        assert (delivered[2], delivered[3].text, delivered[-1]) == ("–", "2", "–")
        assert {(row[2].text, row[3], row[-1].text) for row in rows.values()} == {("1", "–", "1")}
        assert drawing.table.head[1] == "Answered or delivered"
        assert drawing.wide.count("delivered: 2, ") == 1
        assert drawing.wide.count("answered: 1, ") == len(rows)

    def test_of_a_system_that_gives_no_answers_questions_are_delivered(self, many):
        stored = planted(many)
        records = tuple(
            each.model_copy(
                update={
                    "answers": False,
                    "lost_at": "none" if each.lost_at == "generation" else each.lost_at,
                }
            )
            for each in stored.records
        )
        system = {"retriever": "none", "generator": "none", "chunker": "none", "index_recall": None}
        cells = [each.model_copy(update=system) for each in stored.run.cells]
        about = stored.run.model_copy(update={"cells": cells})
        view = View(replace(stored, run=about, records=records))
        tables = losing.by_cell(view, losing.lines(view))
        (drawing,) = flow.figure(view, view.cells[0]).drawings

        assert tables[0].head == ["Configuration", "Questions", "Delivered", "Retrieval", "Context"]
        assert drawing.title.endswith(f"reaches the prompt of {view.name(view.cells[0])}")
        assert drawing.table.rows[-1][:2] == ["Questions delivered", "2"]

    def test_without_categories_there_is_a_table_of_cells_alone(self, many):
        stored = planted(many)
        bare = {
            id_: line.model_copy(update={"category": None})
            for id_, line in stored.questions.items()
        }

        assert not [
            block
            for block in Losses().blocks(View(replace(stored, questions=bare)))
            if isinstance(block, PerCell)
        ]


class TestFlow:
    def steps(self, stored, **changes):
        view = View(stored)
        cell = view.cells[0].model_copy(update=changes)
        return [
            (step.name, step.left, step.of, step.lost)
            for step in flow.steps(view, cell, losing.lines(view)[cell.name])
        ]

    def test_goes_from_all_evidence_down_to_what_was_answered(self, many):
        recall = IndexRecallLine(k=5, mean=1.0, questions=5)
        found = self.steps(planted(many), reranker="lexical", index_recall=recall)

        assert found == [
            ("All evidence", 6, 6, 0),
            ("Not lost to chunking", 6, 6, 0),
            ("Found by the index", 6, 6, 0),
            ("Retrieved", 4, 6, 2),
            ("After reranking", 4, 6, 0),
            ("In the prompt", 3, 6, 1),
            ("Nothing else missing", 2, 6, 1),  # docks had one of three
            ("Question answered", 1, 6, 1),
            ("Questions answered", 1, 3, 0),
        ]

    def test_leaves_out_what_the_cell_has_not_and_says_so(self, many):
        stored = planted(many)
        view = View(stored)
        cell = next(each for each in view.cells if each.retriever == "bm25")
        figure = flow.figure(view, cell)
        (drawing,) = figure.drawings

        assert [row[0] for row in drawing.table.rows][1:3] == ["Not lost to chunking", "Retrieved"]
        assert drawing.caption.endswith("to be lost there: index and reranking.")
        name = view.name(cell)
        assert drawing.title == (
            f"50\u00a0% of the evidence reaches the prompt of {name}, "
            "and 33\u00a0% of the questions are answered"
        )
        assert drawing.table.rows[2] == ["Retrieved", "4", "67\u00a0% (30–90)", "2, retrieval"]
        for svg in (drawing.wide, drawing.narrow):
            assert "−2 retrieval" in svg
            assert "−1 others missing" in svg

    def test_ends_at_the_prompt_where_nothing_answers(self, many):
        stored = planted(many)
        records = tuple(
            record.model_copy(update={"lost_at": "none"})
            if record.lost_at == "generation"
            else record
            for record in stored.records
        )
        *_, prompt, questions = self.steps(replace(stored, records=records), generator="none")

        assert prompt == ("In the prompt", 3, 6, 1)
        assert questions == ("Questions delivered", 2, 3, 0)

    def test_there_is_none_where_no_evidence_was_followed(self, many):
        stored = planted(many)
        gone = FailureLine(stage="retrieval", reason="gone")
        records = tuple(
            record.model_copy(update={"error": gone, "lost_at": None, "passages": []})
            for record in stored.records
        )
        view = View(replace(stored, records=records))

        assert flow.figure(view, view.cells[0]) is None
        assert losing.lines(view)[view.cells[0].name].failed == 4


def test_the_table_of_losses_is_the_one_that_its_configuration_makes(tmp_path):
    config = load(
        ROOT / "configs" / "losses.yaml",
        [f"output={tmp_path}/reports", f"cache={tmp_path}/cache"],
        {},
    )
    folder = runner.run(runner.prepare(config), lambda *_: None).folder
    made = re.search(
        r"\*\*Questions by the first stage[^\n,]*\n\n(\|.*?)\n\n",
        (folder / "report.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    there = re.search(r"<!-- losses: (.+?) -->\n(.*?)\n<!-- /losses -->", README, re.DOTALL)

    assert made
    assert there
    assert there[1] == "python -m harness run configs/losses.yaml"
    assert there[2] == made[1], "run the command above, and paste the table of its report.md"
