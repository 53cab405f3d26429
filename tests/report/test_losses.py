"""How losses are counted over cells, and shown in tables and as a flow."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from harness import api
from harness.config.run_config import load
from harness.records import Arrival, Failure, PassageFacts
from harness.report import loss_tables
from harness.report.charts import flow
from harness.report.document import Fold, PerCell
from harness.report.run_view import View
from harness.report.sections import losses
from harness.runs import runner
from harness.runs.aggregate import count_losses, gives_answers, separable_stages, share_of
from harness.store.cell_results import IndexRecall
from tests.support.small import stored as run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "losses.md").read_text(encoding="utf-8")
GROUPS = ("chunking", "index", "retrieval", "reranking", "context")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return run(tmp_path_factory.mktemp("many"))


def arrived(*stages):
    return [
        Arrival(group=str(at), stage=stage, facts=PassageFacts()) for at, stage in enumerate(stages)
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
        records.append(replace(record, **update, error=None))
    cells = [replace(cell, losses=losing_cells) for cell in stored.run.cells]
    about = replace(stored.run, cells=cells)
    return replace(stored, run=about, records=tuple(records))


def counted(lines):
    return {name: line.count for name, line in lines.items() if line.count}


def own(stored, cell=0):
    return stored.frame.at(stored.places(stored.run.cells[cell].name))


def counted_losses(stored, cell=0):
    return count_losses(own(stored, cell), list(stored.questions.values()))


class TestCounting:
    def test_each_record_is_counted_once_and_groups_of_those_that_were_attributed(self, many):
        stored = planted(many)
        found = counted_losses(stored)

        assert counted(found.questions) == {"none": 1, "retrieval": 1, "generation": 1}
        assert counted(found.groups) == {"retrieval": 2, "context": 1}
        # two of day, three of docks, one of age; helmet is not attributed
        assert {line.of for line in found.groups.values()} == {6}
        assert {line.of for line in found.questions.values()} == {3}
        assert (found.without_evidence, found.unknown, found.unanswerable) == (1, 1, 1)
        assert (found.failed, found.unlabelled, found.untold) == (0, 0, 0)

    def test_what_is_not_attributed_is_counted_by_its_reason(self, many):
        stored = planted(many)
        name = stored.run.cells[0].name
        records = [record for record in stored.records if record.cell == name]
        gone = Failure(stage="generation", reason="gone")
        records[0] = replace(records[0], error=gone, lost_at=None)
        records[1] = replace(records[1], lost_at=None, passages=[])
        bare = replace(stored.questions["age"], passages=[])
        questions = {**stored.questions, "age": bare}
        found = counted_losses(replace(stored, records=records, questions=questions))

        assert (found.failed, found.untold, found.unlabelled) == (1, 1, 1)
        assert (found.unknown, found.unanswerable) == (1, 1)
        assert {line.of for line in found.questions.values()} == {0}
        assert {(line.low, line.high) for line in found.groups.values()} == {(None, None)}

    @pytest.mark.parametrize(("count", "of"), [(0, 1), (1, 1), (3, 8), (90, 156), (156, 156)])
    def test_shares_have_the_intervals_that_scipy_gives(self, count, of):
        theirs = stats.binomtest(count, of).proportion_ci(0.95, method="wilson")
        found = share_of(count, of)

        assert (found.count, found.of) == (count, of)
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)

    def test_a_stage_that_a_cell_has_not_is_not_separable_unless_it_lost_something(self, many):
        stored = planted(many)
        lost = counted_losses(stored)
        cell = next(each for each in stored.run.cells if each.retriever == "bm25")
        own_system = replace(cell, retriever="none", generator="none")
        silent = replace(stored, records=[replace(each, answers=False) for each in stored.records])
        recall = IndexRecall(k=5, mean=1.0, questions=5)
        full = replace(cell, reranker="lexical", index_recall=recall)

        assert separable_stages(cell, lost, True) == [
            "chunking",
            "retrieval",
            "context",
            "generation",
        ]
        assert separable_stages(own_system, lost, True) == ["retrieval", "context", "generation"]
        assert separable_stages(full, lost, True) == [*GROUPS, "generation"]
        assert "generation" in separable_stages(cell, lost, False)
        none = replace(lost, questions={**lost.questions, "generation": share_of(0, 3)})
        assert "generation" not in separable_stages(cell, none, False)
        quiet = replace(cell, generator="none")
        assert [gives_answers(each, own(stored)) for each in (cell, own_system, quiet)] == [
            True, True, False,
        ]  # fmt: skip
        assert not gives_answers(own_system, own(silent))


class TestTables:
    def test_cells_and_categories_have_counts_shares_and_intervals(self, many):
        view = View(planted(many))
        table, fold, note, parts = losses.blocks(view)[-1].blocks

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
        quiet = replace(stored.run.cells[0], generator="none")
        records = tuple(
            replace(each, lost_at=found.get(each.question, each.lost_at))
            if each.cell == quiet.name
            else each
            for each in stored.records
        )
        about = replace(stored.run, cells=[quiet, *stored.run.cells[1:]])
        view = View(replace(stored, run=about, records=records))
        _, figure, *_, shares = losses.blocks(view)
        table = shares.blocks[0]
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


class TestFlow:
    def steps(self, stored, **changes):
        view = View(stored)
        cell = replace(view.cells[0], **changes)
        return [
            (step.name, step.left, step.of, step.lost)
            for step in flow.steps(view, cell, loss_tables.losses_by_cell(view)[cell.name])
        ]

    def test_goes_from_all_evidence_down_to_what_was_answered(self, many):
        recall = IndexRecall(k=5, mean=1.0, questions=5)
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


def test_the_table_of_losses_is_the_one_that_its_configuration_makes(tmp_path):
    config = load(
        ROOT / "configs" / "losses.yaml",
        [f"output={tmp_path}/reports", f"cache={tmp_path}/cache"],
        {},
    )
    folder = api.run(runner.prepare(config), lambda *_: None).folder
    made = re.search(
        r"\*\*Questions by the first stage[^\n,]*\n\n(\|.*?)\n\n",
        (folder / "report.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    there = re.search(r"<!-- losses: (.+?) -->\n(.*?)\n<!-- /losses -->", PAGE, re.DOTALL)

    assert made
    assert there
    assert there[1] == "python -m harness run configs/losses.yaml"
    assert there[2] == made[1], "run `make docs`"
