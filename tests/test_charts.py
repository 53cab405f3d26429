"""Charts: what stands behind each is what the library says, and titles say what is drawn."""

import random
from dataclasses import replace

import pytest

from harness import lines, scoring
from harness.report.blocks import Mark
from harness.report.charts import (
    by_rank,
    curves,
    differences,
    distribution,
    intervals,
    lengths,
    losses,
    scatter,
    scores,
    tradeoffs,
)
from harness.report.charts.by_rank import ByRank
from harness.report.charts.cells import Drawn, told_apart
from harness.report.charts.differences import Difference
from harness.report.charts.frame import apart
from harness.report.charts.scatter import Point
from harness.report.sections.curves import Curves
from harness.report.sections.losses import Losses
from harness.report.view import View
from harness.stored import (
    AggregateLine,
    FailureLine,
    HitLine,
    JudgedLine,
    LengthsLine,
    PassageLine,
)
from tests.small import stored as run

EACH = (curves, tradeoffs, scores, distribution, lengths, losses)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return run(tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    one_cell = {"chunkers": ["markdown"], "retrievers": ["bm25"], "metrics": ["hit_rate@2"]}
    return run(tmp_path_factory.mktemp("one"), **one_cell)


def changed(stored, change):
    """Return the run with each record as `change` makes it."""
    return replace(stored, records=tuple(map(change, stored.records)))


def with_cells(stored, change):
    cells = [change(cell) for cell in stored.run.cells]
    return replace(stored, run=stored.run.model_copy(update={"cells": cells}))


def by_the_library(view, cell, metric):
    """Return the mean of a metric over a cell's records, scored one by one by the library."""
    level = view.run.config["resolved"]["relevance_level"]
    named = scoring.build(metric, view.run.provenance.labels, level)
    cases = [
        lines.case(record, lines.question(view.question(record)), view.stored.texts)
        for record in view.records(cell)
    ]
    found = [row[named.name] for row in scoring.score_all([named], cases)]
    values = [0.0 if each.state == "failed" else each.value for each in found]
    values = [value for value in values if value is not None]
    return sum(values) / len(values), len(values)


def agree(stored, measures):
    view = View(stored)
    ks = by_rank.cuts(view)
    assert by_rank.measures(view) == measures
    read = ByRank(view, ks)
    for cell in view.cells:
        found = read.curves(cell)
        for curve, measure in zip(found, measures, strict=True):
            for k, mean in zip(ks, curve.means, strict=True):
                expected, n = by_the_library(view, cell, f"{measure}@{k}")
                assert mean == pytest.approx(expected, abs=1e-12), (cell.name, measure, k)
                assert curve.n == n


def tangled(stored, seed):
    """The run with random hits and passages: they overlap, repeat, abut and are alternatives."""
    rng = random.Random(seed)
    text = "".join(rng.choice("ab \n") for _ in range(200))

    def span():
        start = rng.randrange(190)
        return rng.choice(["x", "y"]), start, start + rng.randint(1, 40)

    questions = {}
    for id_, line in stored.questions.items():
        passages = []
        for number in range(rng.randint(1, 4)):
            doc, start, end = span()
            if not text[start:end].strip():
                continue
            passages.append(
                PassageLine(
                    doc=doc, start=start, end=min(end, 200), text=text[start:end],
                    group=f"g{number % 2}", grade=1,
                )
            )  # fmt: skip
        questions[id_] = line.model_copy(update={"passages": passages})
    texts = {}

    def change(record):
        spans = [span() for _ in range(rng.randint(0, 8))]
        spans += spans[:1]
        texts.update({(doc, start, end): text[start:end] for doc, start, end in spans})
        hits = [HitLine(doc=d, start=s, end=e, score=-at) for at, (d, s, e) in enumerate(spans)]
        grades = [rng.choice([None, 0, 1, 2]) for _ in hits]
        judged = JudgedLine(grades=grades, inventory=[2, 1, 1], irrelevant=3)
        return record.model_copy(update={"hits": hits, "judged": {"evidence": judged}})

    records = tuple(map(change, stored.records))
    return replace(stored, records=records, questions=questions, texts=texts)


class TestCurves:
    def test_passage_recall_and_evidence_precision_are_the_librarys_at_each_k(self, many):
        agree(many, ("passage_recall", "evidence_precision"))

    @pytest.mark.parametrize("seed", range(12))
    def test_they_are_so_for_any_ranking_and_any_passages(self, many, seed):
        agree(tangled(many, seed), ("passage_recall", "evidence_precision"))

    @pytest.mark.parametrize("seed", range(4))
    def test_recall_and_precision_are_the_librarys_within_one_chunker(self, one, seed):
        agree(tangled(one, seed), ("recall", "precision"))

    def test_a_higher_level_of_relevance_counts_less_as_relevant(self, one):
        resolved = {**one.run.config["resolved"], "relevance_level": 2}
        config = {**one.run.config, "resolved": resolved}
        strict = replace(one, run=one.run.model_copy(update={"config": config}))

        agree(tangled(strict, 3), ("recall", "precision"))

    def test_documents_are_compared_across_chunkers(self, tmp_path):
        agree(run(tmp_path, labels="documents"), ("recall", "precision"))

    def test_of_keywords_only_the_hit_rate_is_compared_across_chunkers(self, tmp_path):
        metrics = ["hit_rate@2", "token_f1"]
        agree(run(tmp_path, labels="keywords", metrics=metrics), ("hit_rate",))

    def test_a_failed_retrieval_counts_0_and_what_carries_no_label_does_not_count(self, many):
        error = FailureLine(stage="retrieval", reason="gone")
        failed = changed(many, lambda each: each.model_copy(update={"error": error}))
        view = View(failed)

        (recall, precision) = ByRank(view, [1, 5]).curves(view.cells[0])

        assert recall.means == precision.means == (0.0, 0.0)
        assert recall.n == 4  # of five questions one has no answer
        agree(failed, ("passage_recall", "evidence_precision"))

    def test_a_system_that_does_not_tell_what_it_retrieved_has_none(self, many):
        hidden = changed(many, lambda each: each.model_copy(update={"ranked": False}))

        assert curves.figure(View(hidden)) is None

    def test_title_and_table_say_the_mean_at_what_is_sent(self, many):
        view = View(many)
        best = view.cells.index(view.best)
        drawing, other = curves.figure(view).drawings
        mean, n = by_the_library(view, view.best, "passage_recall@2")

        assert drawing.label == "recall"
        assert other.label == "precision"
        share = f"{100 * mean:.0f}\u00a0%"
        assert drawing.title == f"The first 2 results hold {share} of the passages whole"
        assert drawing.table.head == ["Configuration", "@1", "@2", "@3", "@5", "n"]
        assert drawing.table.rows[best][2] == f"{mean:.3f}"
        assert drawing.table.rows[best][-1] == str(n)
        assert "sent to the prompt" in drawing.wide
        assert "sent to the prompt" in drawing.narrow

    def test_of_many_cells_the_best_few_and_the_baseline_are_told_apart(self, many):
        first = many.run.cells[0]
        cells = [
            first.model_copy(
                update={
                    "name": f"c{at:02}",
                    "floor": at == 0,
                    "scores": {
                        name: line.model_copy(update={"mean": 1 - at / 100})
                        for name, line in first.scores.items()
                    },
                }
            )
            for at in range(20)
        ]
        view = View(
            replace(
                many,
                records=(),
                run=many.run.model_copy(update={"cells": cells, "baseline": "c19"}),
            )
        )

        assert told_apart(view) == {"c01", "c02", "c03", "c04", "c05", "c06", "c19"}


class TestTradeoffs:
    def test_the_front_is_what_no_other_beats(self):
        spots = {"a": (1, 0.2), "b": (2, 0.5), "c": (2, 0.4), "d": (3, 0.5), "e": (4, 0.6)}
        cell = Drawn("", Mark(0, 0), False)
        points = [Point(replace(cell, name=name), *spot) for name, spot in spots.items()]

        front = [each.cell.name for each in tradeoffs.front(points) if each.front]

        assert front == ["a", "b", "e"]

    def test_points_alike_in_both_are_both_on_it(self):
        cell = Drawn("", Mark(0, 0), False)

        assert all(each.front for each in tradeoffs.front([Point(cell, 1, 0.5)] * 2))

    def test_latency_is_the_median_and_tokens_the_mean_of_a_question(self, many):
        view = View(many)
        latency, tokens = tradeoffs.figure(view).drawings
        records = view.records(view.cells[0])
        used = [each.usage.tokens_in + (each.usage.tokens_out or 0) for each in records]
        taken = sorted(sum(each.seconds.values()) for each in records)

        assert (latency.label, tokens.label) == ("latency", "tokens")
        assert tokens.table.rows[0][2] == f"{sum(used) / len(used):,.0f} tokens"
        assert latency.table.rows[0][2] == f"{float(f'{taken[2] * 1000:.2g}'):g} ms"
        assert "milliseconds" in latency.wide

    def test_what_is_not_known_is_not_drawn(self, many):
        plain = changed(many, lambda each: each.model_copy(update={"usage": None}))
        timeless = changed(plain, lambda each: each.model_copy(update={"seconds": {}}))

        assert [each.label for each in tradeoffs.figure(View(plain)).drawings] == ["latency"]
        assert tradeoffs.figure(View(timeless)) is None

    @pytest.mark.parametrize(
        ("costs", "ticks"),
        [((1, 2), (0.8, 1, 1.2, 1.4, 1.6, 1.8, 2, 2.2)), ((7, 7), (6, 6.5, 7, 7.5, 8))],
    )
    def test_axes_are_round_and_hold_all(self, costs, ticks):
        axis = scatter._linear(costs, 7)

        assert axis.ticks == ticks
        assert axis.low <= min(costs)
        assert max(costs) <= axis.high

    def test_a_logarithmic_axis_has_few_ticks_however_far_it_goes(self):
        for high in (30, 3e3, 3e6):
            axis = scatter._decades([1, high], 7)
            assert 2 <= len(axis.ticks) <= 7
            assert axis.share(1) > 0
            assert axis.share(high) < 1


class TestDistribution:
    def test_tenths_hold_their_lower_end_and_the_last_1_too(self):
        values = [0.0, 0.09, 0.1, 0.3, 0.7, 0.95, 1.0, 1.0]

        assert distribution.counted(values) == (2, 1, 0, 1, 0, 0, 0, 1, 0, 3)

    def test_the_title_counts_the_perfect_and_the_lost(self, many):
        best = View(many).best.name
        values = dict(zip(["day", "docks", "age", "helmet"], [1.0, 0.0, 0.0, 0.5], strict=True))

        def change(record):
            line = record.scores["passage_recall@2"]
            value = values.get(record.question) if record.cell == best else None
            line = line.model_copy(update={"value": value})
            return record.model_copy(update={"scores": {**record.scores, "passage_recall@2": line}})

        drawing = distribution.figure(View(changed(many, change))).drawings[0]

        assert drawing.title.startswith("The mean hides two groups: ")
        assert drawing.title.endswith(" is perfect on 1 question and at 0 on 2")
        assert drawing.table.rows[0][1:] == [*"2000010001", "2", "1", "4"]


class TestLengths:
    def test_there_is_a_histogram_a_chunker_and_none_for_what_is_not_known(self, many):
        made = {
            "markdown": LengthsLine(
                chunks=3, median=50, shortest=20, longest=90, bins=[1, 2], width=50
            ),
            "fixed(size=60)": None,
        }
        view = View(with_cells(many, lambda c: c.model_copy(update={"lengths": made[c.chunker]})))
        without = View(with_cells(many, lambda c: c.model_copy(update={"lengths": None})))

        drawing = lengths.figure(view).drawings[0]
        assert drawing.title == "Half of the 3 chunks have 50 characters or more"
        assert drawing.table.rows == [["markdown", "3", "20", "50", "90"]]
        assert lengths.figure(without) is None

    def test_the_title_compares_medians(self, many):
        def line(chunker):
            median = 40.0 if chunker == "markdown" else 60.0
            return LengthsLine(
                chunks=2, median=median, shortest=1, longest=70, bins=[0, 2], width=40
            )

        view = View(with_cells(many, lambda c: c.model_copy(update={"lengths": line(c.chunker)})))

        title = lengths.figure(view).drawings[0].title
        assert title.endswith("markdown cuts shorter chunks than fixed(size=60): "
                              "median 40 characters against 60")  # fmt: skip


def lost(stored, stages, **more):
    """The run as it would be had each cell lost its questions at these stages, by question."""
    return changed(
        stored,
        lambda each: each.model_copy(
            update={"lost_at": stages.get(each.question), "error": None, **more}
        ),
    )


STAGES = {"day": "none", "docks": "retrieval", "age": "retrieval", "helmet": "generation"}


class TestLosses:
    def test_each_question_with_evidence_is_counted_once(self, many):
        view = View(lost(many, STAGES))

        assert {k: v for k, v in losses.counted(view, view.cells[0]).items() if v} == {
            "none": 1, "retrieval": 2, "generation": 1,
        }  # fmt: skip

    def test_failed_ones_stand_beside_unless_they_could_not_be_answered_anyway(self, many):
        error = FailureLine(stage="generation", reason="gone")
        stored = lost(many, {"day": "none"})
        failed = changed(
            stored,
            lambda r: r.model_copy(
                update={"error": error if r.question in ("age", "ceo") else None}
            ),
        )
        view = View(failed)

        assert {k: v for k, v in losses.counted(view, view.cells[0]).items() if v} == {
            "none": 1, "failed": 1,
        }  # fmt: skip

    def test_title_and_section_name_the_largest_loss(self, many):
        view = View(lost(many, STAGES, traced_to=9))
        name = view.name(view.best)
        said, figure, *_ = Losses().blocks(view)

        assert figure.drawings[0].title == f"Retrieval loses 2 of 4 questions of {name}"
        assert said.text == (
            "Most are lost at retrieval: 8 of 12 in all configurations. "
            f"With {name} the largest loss is retrieval, 2 of 4 questions."
        )

    def test_segments_lead_to_their_questions(self, many):
        drawing = losses.figure(View(lost(many, STAGES))).drawings[0]

        for number in range(4):
            assert f'href="#questions?lost=retrieval&amp;cell={number}"' in drawing.wide
        assert drawing.wide.count("<a ") == drawing.narrow.count("<a ") == 12
        assert drawing.wide.count('aria-label="retrieval: 2, ') == 4

    def test_what_the_index_may_have_lost_is_said_where_nobody_can_tell(self, many):
        _, _, note, *_ = Losses().blocks(View(lost(many, STAGES, traced_to=None)))

        assert note.text.startswith(
            "Not known for all configurations: what exact search would have found."
        )

    def test_nothing_is_said_where_no_question_could_be_followed(self, many):
        assert Losses().blocks(View(lost(many, {}))) == []

    def test_nothing_lost_is_said_as_such(self, many):
        said, figure, *_ = Losses().blocks(View(lost(many, dict.fromkeys(STAGES, "none"))))

        assert said.text == "No question that could be followed was lost at any stage."
        assert figure.drawings[0].title.endswith(" lost none of 4 questions")


class TestScores:
    def test_the_title_names_the_highest_or_says_how_many_share_it(self, many):
        def spread(cell):
            at = [each.name for each in many.run.cells].index(cell.name)
            line = cell.scores["passage_recall@2"].model_copy(update={"mean": at / 10 + 0.2})
            return cell.model_copy(update={"scores": {**cell.scores, "passage_recall@2": line}})

        def same(cell):
            line = cell.scores["passage_recall@2"].model_copy(update={"mean": 0.5})
            return cell.model_copy(update={"scores": {**cell.scores, "passage_recall@2": line}})

        view, alike = View(with_cells(many, spread)), View(with_cells(many, same))

        title = scores.figure(view).drawings[0].title
        assert title == f"{view.name(view.cells[0])} has the highest passage_recall@2: 0.50"
        shared = scores.figure(alike).drawings[0].title
        assert shared == "4 configurations share the highest passage_recall@2: 0.50"


class TestDifferences:
    def drawn(self, *rows):
        made = [
            Difference(f"c{at}", Mark(1, 0), difference, difference - 0.1, difference + 0.1, sure)
            for at, (difference, sure) in enumerate(rows)
        ]
        return differences.figure("best", "ndcg@10", made).drawings[0]

    @pytest.mark.parametrize(
        ("rows", "title"),
        [
            ([(0.2, True)], "best beats the other"),
            ([(0.2, True), (0.3, True)], "best beats all 2 others"),
            ([(0.2, True), (0.1, False)], "best beats 1 of 2 others; one it is not shown to beat"),
            ([(0.1, False)], "best is not shown to beat the other"),
            ([(0.1, False), (0, False)], "best is not shown to beat any of the 2 others"),
            ([(0.2, True), (-0.2, True)], "best beats 1 of 2 others; 1 of them beat it"),
        ],
    )
    def test_the_title_counts_what_was_shown(self, rows, title):
        assert self.drawn(*rows).title == title

    def test_what_is_not_significant_is_hollow(self):
        sure, unsure = self.drawn((0.2, True)).wide, self.drawn((0.2, False)).wide

        assert 'fill="#c2570c" stroke="#c2570c"' in sure
        assert 'fill="#ffffff" stroke="#c2570c"' in unsure

    def test_figures_are_signed(self):
        row = Difference("c", Mark(0, 1), -0.25, -0.35, -0.15, False, 0.0123, 15, 0.3)
        table = differences.figure("best", "m", [row]).drawings[0].table

        assert table.rows == [["c", "−0.25", "−0.35 to −0.15", "0.01", "15", "0.30"]]

    def test_there_is_none_without_others(self):
        assert differences.figure("best", "ndcg@10", []) is None

    def test_a_difference_of_nothing_is_drawn(self):
        row = Difference("c", Mark(0, 1), 0.0, None, None, False)

        assert "<svg" in differences.figure("best", "m", [row]).drawings[0].narrow


def test_places_are_moved_as_little_as_keeps_them_apart():
    assert apart([10, 12, 40], 10, 0, 100) == [6, 16, 40]
    assert apart([12, 10], 10, 0, 100) == [16, 6]
    assert apart([0, 0, 0], 10, 0, 100) == [0, 10, 20]
    assert apart([99, 100], 10, 0, 100) == [90, 100]
    assert apart([], 10, 0, 100) == []


def empty(stored):
    bare = stored.run.model_copy(update={"cells": [], "status": "failed"})
    return replace(stored, run=bare, records=())


def failed(stored):
    nothing = AggregateLine(
        mean=0.0, mean_finished=None, low=None, high=None, n=5, failed=5, not_scored=0,
        judge_failed=0, method="none", note="n = 5 is under 6",
    )  # fmt: skip
    return with_cells(
        stored,
        lambda cell: cell.model_copy(
            update={"failed": 5, "scores": dict.fromkeys(cell.scores, nothing)}
        ),
    )


def unscored(stored):
    line = next(iter(stored.run.cells[0].scores.values()))
    none = line.model_copy(update={"mean": None, "low": None, "high": None})
    return with_cells(
        stored, lambda c: c.model_copy(update={"scores": dict.fromkeys(c.scores, none)})
    )


class TestRunsOfEveryKind:
    @pytest.mark.parametrize("chart", EACH)
    def test_a_run_without_cells_has_no_chart(self, chart, many):
        assert chart.figure(View(empty(many))) is None

    def test_one_cell_has_its_curves_and_nothing_to_compare(self, one):
        view = View(one)

        assert len(curves.figure(view).drawings) == 2
        assert scores.figure(view) is None
        assert tradeoffs.figure(view) is None

    @pytest.mark.parametrize("kind", [failed, unscored])
    def test_sections_of_a_run_that_came_to_nothing_are_made(self, kind, many):
        view = View(kind(many))

        assert isinstance([*Curves().blocks(view), *Losses().blocks(view)], list)

    def test_the_section_says_what_colours_and_shapes_tell(self, many, one):
        said = Curves().blocks(View(many))[0].text

        assert said.startswith("Colour tells how a configuration retrieves. ")
        assert "A filled circle is " in said
        assert not any(hasattr(each, "text") for each in Curves().blocks(View(one)))


def test_intervals_draw_no_more_rows_than_can_be_read_and_the_baseline(many):
    first = many.run.cells[0]
    cells = [first.model_copy(update={"name": f"c{at:02}"}) for at in range(40)]
    run_ = many.run.model_copy(update={"cells": cells, "baseline": "c39"})
    drawing = scores.figure(View(replace(many, run=run_, records=()))).drawings[0]

    assert len(drawing.table.rows) == 40
    assert drawing.caption.endswith(" 15 lower ones are in the table.")
    assert drawing.wide.count("baseline") == 1
    assert intervals.MOST == 24
