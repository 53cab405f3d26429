"""A run against a baseline: which cells, which questions, what is shown, and what is refused."""

from dataclasses import replace

import pytest

from harness.comparison import operand
from harness.comparison.cell_differences import CellDifferences
from harness.comparison.compare_runs import Options, compare_operands
from harness.comparison.operand import Incomparable
from harness.comparison.paired_values import Pairing
from harness.errors import HarnessError
from harness.report import comparison_blocks, terminal
from harness.report.comparison_blocks import blocks
from tests.support.compared import run, side

BEFORE = [1.0, 1.0, 1.0, 0.5, 0.0, 1.0, 1.0, 1.0, 0.5, 0.0]
AFTER = [0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]


def text(found):
    return terminal.render(blocks(found))


def one(values, metric="recall"):
    return {"cell": {metric: values}}


def rows(found, at=0):
    return {row.metric: row for row in found.pairs[at].rows}


class TestWhatIsShown:
    def test_the_difference_is_the_run_less_the_baseline_on_each_question(self):
        found = compare_operands(side(one(BEFORE), "old"), side(one(AFTER)))

        row = rows(found)["recall"]
        assert (row.baseline, row.run) == (pytest.approx(0.7), pytest.approx(0.2))
        assert row.difference.difference == pytest.approx(-0.5)
        assert (row.difference.wins, row.difference.ties, row.difference.losses) == (1, 3, 6)
        # Seven questions differ: 5 by -1, one by -0.5, one by +0.5. As far from 0 as -5: all
        # signs of the five alike, and the halves in one of 3 of their 4 ways.
        assert row.difference.p == 2 * 3 / 2**7
        assert (found.worse, found.better, found.identical) == (True, False, False)
        assert comparison_blocks.headline(found) == "Worse: recall fell by 0.50."

    def test_runs_with_the_same_scores_differ_by_0_with_p_1_and_are_called_identical(self):
        scores = {"cell": {"recall": BEFORE, "pooled": [[1.0, 2.0]] * 10}}
        kinds = {"pooled": {"kind": "whole set", "spec": "decline_recall"}}

        found = compare_operands(side(scores, "old", metrics=kinds), side(scores, metrics=kinds))

        for row in found.pairs[0].rows:
            assert (row.difference.difference, row.difference.p) == (0.0, 1.0)
            assert row.identical
            assert row.difference.low is None
        assert found.identical
        assert comparison_blocks.headline(found) == "Identical in every score."
        assert text(found).startswith("Identical in every score.")
        assert not found.worse

    def test_max_t_is_replaced_by_holm_or_the_false_discovery_rate_on_request(self):
        metrics = {"a": AFTER, "b": AFTER, "c": BEFORE}
        both = (side({"cell": dict.fromkeys("abc", BEFORE)}, "old"), side({"cell": metrics}))
        p = 6 / 2**7

        corrected = {
            each.method: [
                row.difference.corrected for row in compare_operands(*both, each).pairs[0].rows
            ]
            for each in (Options(), Options(correction="holm"), Options(correction="bh"))
        }

        # The two columns are the same: one of them is no more likely to be as large than one alone.
        assert corrected["max-t"] == [p, p, 1.0]
        assert corrected["holm"] == [3 * p, 3 * p, 1.0]
        assert corrected["bh"] == [3 / 2 * p, 3 / 2 * p, 1.0]
        assert Options(test="t").method == "holm"

    def test_a_segment_that_got_worse_is_named_and_few_questions_are_no_segment(self):
        kinds = ["fact"] * 8 + ["sum"] * 8 + ["odd"] * 4
        before, after = [1.0] * 20, [1.0] * 8 + [0.0] * 8 + [1.0] * 4

        found = compare_operands(
            side(one(before), "old", categories=kinds), side(one(after), categories=kinds)
        )

        segments = {row.segment: row for row in found.pairs[0].segments}
        assert segments.keys() == {"fact", "sum"}
        assert found.segment_family == 2
        assert segments["sum"].difference.worse
        assert segments["sum"].difference.corrected == pytest.approx(2 / 2**8)
        assert segments["fact"].identical

    def test_questions_lost_and_won_come_greatest_gap_first(self):
        found = compare_operands(
            side(one([1, 1, 0, 0.2, 1]), "old"), side(one([0.5, 0, 0.9, 1, 1])), Options()
        )

        (pair,) = found.pairs
        assert [(gap.question, gap.baseline, gap.run) for gap in pair.lost] == [
            ("q1", 1, 0),
            ("q0", 1, 0.5),
        ]
        assert [gap.question for gap in pair.won] == ["q2", "q3"]

    def test_failures_are_tested_by_themselves_and_never_as_scores(self):
        before, after = [1.0] * 10, [1.0, None, None, None, None, None, None, 1.0, 1.0, 1.0]

        found = compare_operands(side(one(before), "old"), side(one(after)))

        (pair,) = found.pairs
        assert rows(found)["recall"].identical
        assert not found.worse
        assert not found.identical
        assert (pair.finished.baseline, pair.finished.run) == (1.0, pytest.approx(0.4))
        assert pair.finished.difference.p == pytest.approx(2 / 2**6)
        assert pair.finished.difference.worse

    def test_a_metric_of_the_whole_set_is_compared_by_its_one_value(self):
        kinds = {"declined": {"kind": "whole set", "spec": "decline_recall"}}
        before, after = [[1.0, 1.0]] * 8, [[0.0, 1.0]] * 6 + [[1.0, 1.0]] * 2

        found = compare_operands(
            side(one(before, "declined"), "old", metrics=kinds),
            side(one(after, "declined"), metrics=kinds),
        )

        row = rows(found)["declined"]
        assert (row.baseline, row.run) == (1.0, 0.25)
        assert row.difference.test == "swap"
        assert found.pairs[0].lost == ()

    def test_descriptive_metrics_and_own_chunks_of_another_chunker_are_not_compared(self):
        metrics = {"words": {"kind": "descriptive"}, "precision": {"within_chunker": True}}
        scores = {"cell": {"recall": BEFORE, "words": BEFORE, "precision": BEFORE}}

        found = compare_operands(
            side(scores, "old", metrics=metrics, chunkers={"cell": "fixed"}),
            side(scores, metrics=metrics, chunkers={"cell": "sentence"}),
        )

        (pair,) = found.pairs
        assert rows(found).keys() == {"recall"}
        assert pair.untested["words"].startswith("descriptive")
        assert pair.untested["precision"].endswith("the chunkers differ")

    def test_cells_of_one_run_differ_as_their_report_says(self):
        scores = {name: {"recall": each} for name, each in (("b", BEFORE), ("a", AFTER))}
        made = run(scores, baseline="b")
        only = operand.operand_from_run(made)

        (row,) = compare_operands(only, only).pairs[0].rows

        assert row.difference == CellDifferences(made).against_baseline["a", "recall"]


class TestWhichCells:
    def cells(self, *names):
        return {name: {"recall": BEFORE} for name in names}

    def pairs(self, old, new, *wanted):
        found = compare_operands(
            side(self.cells(*old), "old"), side(self.cells(*new)), Options(pairs=wanted)
        )
        return [pair.pairing for pair in found.pairs]

    def test_cells_of_one_name_stand_against_each_other(self):
        assert self.pairs("ab", "ba") == [Pairing("b", "b"), Pairing("a", "a")]

    def test_pairs_that_are_named_stand_alone(self):
        assert self.pairs("ab", "cd", "a=d", "b = c") == [Pairing("a", "d"), Pairing("b", "c")]

    def test_a_name_with_an_equals_sign_is_found(self):
        assert self.pairs(["f(size=2)"], ["f(size=3)"], "f(size=2)=f(size=3)") == [
            Pairing("f(size=2)", "f(size=3)")
        ]

    def test_a_cell_may_be_named_by_the_components_that_only_it_has(self):
        made = run(self.cells("a × dense", "a × bm25", "b × bm25"))
        cells = [
            replace(cell, chunker=cell.name[0], retriever=cell.name.split(" × ")[1])
            for cell in made.run.cells
        ]
        only = operand.operand_from_run(replace(made, run=replace(made.run, cells=cells)))

        found = compare_operands(only, only, Options(pairs=["dense=b x bm25"]))
        assert found.pairs[0].pairing == Pairing("a × dense", "b × bm25")
        with pytest.raises(HarnessError, match="names several cells"):
            compare_operands(only, only, Options(pairs=["dense=bm25"]))

    def test_no_name_in_common_is_refused_with_the_names_of_both_sides(self):
        with pytest.raises(Incomparable) as refused:
            self.pairs("ab", "cd")

        assert str(refused.value).splitlines() == [
            "no cell of new has the name of one of old",
            '  say which belong together: --pair "A=B"',
            "  cells of old:",
            "    a",
            "    b",
            "  cells of new:",
            "    c",
            "    d",
        ]

    def test_cells_of_one_run_stand_against_its_baseline_cell(self):
        only = side(self.cells("a", "b", "c"), baseline="b")

        found = compare_operands(only, only)

        assert [p.pairing for p in found.pairs] == [Pairing("b", "a"), Pairing("b", "c")]
        assert found.changes == ()
        assert [c.what for c in found.pairs[0].differs] == ["retriever"]

    def test_one_run_without_a_baseline_cell_is_refused(self):
        only = side(self.cells("a", "b"))

        with pytest.raises(HarnessError, match=r'--pair "A=B"\n  cells of new:\n    a'):
            compare_operands(only, only)


class TestWhichQuestions:
    def test_a_question_with_a_value_on_one_side_alone_is_listed_with_the_reason(self):
        found = compare_operands(side(one([1, 1, 1, None]), "old"), side(one([1, None, 1, 1])))

        (pair,) = found.pairs
        assert [(each.question, each.missing, each.reason) for each in pair.unpaired] == [
            ("q1", "run", "failed: gone"),
            ("q3", "baseline", "failed: gone"),
        ]
        assert rows(found)["recall"].difference.unpaired == 2
        assert rows(found)["recall"].difference.n == 2

    def test_a_question_whose_text_or_gold_changed_is_not_the_same_question(self):
        other = {"q3": {"text": "What else?"}, "q5": {"answers": ["42"]}}

        found = compare_operands(side(one(BEFORE), "old"), side(one(AFTER), texts=other))

        assert found.changed == ("q3", "q5")
        assert rows(found)["recall"].difference.n == 8

    def test_no_shared_question_is_refused(self):
        texts = {f"q{at}": {"text": f"other {at}"} for at in range(10)}

        with pytest.raises(Incomparable, match="share no question, though 10 have the same id"):
            compare_operands(side(one(BEFORE), "old"), side(one(AFTER), texts=texts))


class TestWhatIsRefused:
    @pytest.mark.parametrize("metrics", [("recall",), ("recall", "f1")])
    def test_a_run_of_which_every_question_failed_is_refused(self, metrics):
        old = side({"cell": dict.fromkeys(metrics, BEFORE)}, "old")
        new = side({"cell": dict.fromkeys(metrics, [None] * 10)})

        with pytest.raises(Incomparable, match="no value to compare: 10 answers failed in new"):
            compare_operands(old, new)

    @pytest.mark.parametrize(
        ("kind", "said"),
        [("testset", "the test set is another"), ("corpus", "the corpus is another")],
    )
    def test_other_data_is_refused_unless_it_is_allowed(self, kind, said):
        old = side(one(BEFORE), "old", about={kind: {"hash": "1", "path": "there"}})
        new = side(one(AFTER), about={kind: {"hash": "2", "path": "here"}})

        with pytest.raises(Incomparable) as refused:
            compare_operands(old, new)

        assert refused.value.status == 3
        assert f"{said}: there (1), now here (2)" in str(refused.value)
        assert f"--allow {kind}" in str(refused.value)
        found = compare_operands(old, new, Options(allow=[kind]))
        assert rows(found)["recall"].difference.n == 10
        assert ("hash", "1", "2") in [(c.what, c.before, c.after) for c in found.changes]

    def test_a_metric_that_another_model_scored_is_refused(self):
        models = [{"used_by": "recall", "model": "a", "runtime": "torch"}]
        fast = [{"used_by": "recall", "model": "a", "runtime": "openvino"}]
        other = [{"used_by": "recall", "model": "b"}]
        old = side(one(BEFORE), "old", about={"models": models})

        assert compare_operands(old, side(one(BEFORE), about={"models": fast})).identical
        with pytest.raises(Incomparable, match="its judge or its prompt is another"):
            compare_operands(old, side(one(BEFORE), about={"models": other}))

    def test_a_metric_of_neither_side_is_refused_with_those_there_are(self):
        with pytest.raises(HarnessError, match="did you mean 'recall'") as refused:
            compare_operands(side(one(BEFORE), "old"), side(one(AFTER)), Options(metrics=["recal"]))

        assert refused.value.status == 2

    def test_a_metric_of_one_side_alone_is_refused_if_asked_for_and_else_left_out(self):
        old = side(one(BEFORE), "old")
        new = side({"cell": {"recall": AFTER, "f1": AFTER}})

        with pytest.raises(Incomparable, match="old was not scored by it"):
            compare_operands(old, new, Options(metrics=["f1"]))
        assert compare_operands(old, new).left_out == {"f1": "only new was scored by it"}


class TestWhatChanged:
    def test_settings_models_code_and_libraries_are_listed_by_their_place(self):
        before = {"chunkers": [{"fixed": {"size": 800}}], "output": "a", "retrieve": 20}
        after = {
            "chunkers": [{"fixed": {"size": 400}}],
            "output": "b",
            "retrieve": 10,
            "judge": "m",
        }
        model = {"used_by": "x", "weights": "1"}
        old = {"models": [model], "packages": {"numpy": "2.0"}, "harness": "1", "git_commit": "ab"}
        new = {
            "models": [{**model, "weights": "2"}],
            "packages": {"numpy": "2.1"},
            "harness": "2",
            "git_commit": "ab",
            "git_dirty": True,
        }

        found = compare_operands(
            side(one(BEFORE), "old", resolved=before, about=old),
            side(one(BEFORE), resolved=after, about=new),
        )

        assert [(c.about, c.what, c.before, c.after) for c in found.changes] == [
            ("config", "retrieve", "20", "10"),
            ("config", "chunkers.fixed.size", "800", "400"),
            ("config", "judge", "–", "m"),
            ("model", "x.weights", "1", "2"),
            ("harness", "version", "1", "2"),
            ("harness", "commit", "ab", "ab with changes"),
            ("package", "numpy", "2.0", "2.1"),
        ]
