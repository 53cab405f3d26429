"""Charts: what stands behind each is what the library says, and titles say what is drawn."""

import random
from dataclasses import replace

import pytest

from harness.metrics import named_metrics
from harness.records import Failure, Judged, Passage, Span, StoredHit
from harness.report.charts import (
    curves_chart,
    differences_chart,
    histograms,
    losses_chart,
    tradeoffs,
)
from harness.report.charts.chart_cells import highlighted_cells
from harness.report.charts.differences_chart import PlottedDifference
from harness.report.document import Mark
from harness.report.run_view import View
from harness.report.sections import curves_section, losses
from harness.runs import rank_curves, scoring
from harness.runs.outcomes import make_cases
from harness.runs.rank_curves import CurveReader
from harness.stats.aggregate_scores import Aggregate
from harness.store.cell_results import ChunkLengths
from tests.small import stored as run

EACH = (
    curves_chart.figure,
    tradeoffs.figure,
    histograms.scores,
    histograms.lengths,
    losses_chart.figure,
)


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
    return replace(stored, run=replace(stored.run, cells=cells))


def by_the_library(view, cell, metric):
    """Return the mean of a metric over a cell's records, scored one by one by the library."""
    level = view.run.config["resolved"]["relevance_level"]
    named = named_metrics.build_metric(metric, view.run.provenance.labels, level)
    cases = [
        make_cases(record, view.question(record), view.stored.texts)[0]
        for record in view.records(cell)
    ]
    found = [row[named.name] for row in scoring.score_all([named], cases)]
    values = [0.0 if each.state == "failed" else each.value for each in found]
    values = [value for value in values if value is not None]
    return sum(values) / len(values), len(values)


def agree(stored, measures):
    view = View(stored)
    ks = rank_curves.curve_ks(view.stored)
    assert rank_curves.measures(view.stored) == measures
    read = CurveReader(view.stored, ks)
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
                Passage(Span(doc, start, min(end, 200)), text[start:end], f"g{number % 2}")
            )
        questions[id_] = replace(line, passages=passages)
    texts = {}

    def change(record):
        spans = [span() for _ in range(rng.randint(0, 8))]
        spans += spans[:1]
        texts.update({(doc, start, end): text[start:end] for doc, start, end in spans})
        hits = [StoredHit(doc=d, start=s, end=e, score=-at) for at, (d, s, e) in enumerate(spans)]
        grades = [rng.choice([None, 0, 1, 2]) for _ in hits]
        found = [grade for grade in grades if grade]
        judged = Judged(tuple(grades), tuple(sorted([*found, 2, 1, 1], reverse=True)), 3)
        return replace(record, hits=tuple(hits), judged={"evidence": judged}, context=None)

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
        strict = replace(one, run=replace(one.run, config=config))

        agree(tangled(strict, 3), ("recall", "precision"))

    def test_documents_are_compared_across_chunkers(self, tmp_path):
        agree(run(tmp_path, labels="documents"), ("recall", "precision"))

    def test_of_keywords_only_the_hit_rate_is_compared_across_chunkers(self, tmp_path):
        metrics = ["hit_rate@2", "token_f1"]
        agree(run(tmp_path, labels="keywords", metrics=metrics), ("hit_rate",))

    def test_a_failed_retrieval_counts_0_and_what_carries_no_label_does_not_count(self, many):
        error = Failure(stage="retrieval", reason="gone")
        failed = changed(many, lambda each: replace(each, error=error))
        view = View(failed)

        (recall, precision) = CurveReader(view.stored, [1, 5]).curves(view.cells[0])

        assert recall.means == precision.means == (0.0, 0.0)
        assert recall.n == 4  # of five questions one has no answer
        agree(failed, ("passage_recall", "evidence_precision"))

    def test_a_system_that_does_not_tell_what_it_retrieved_has_none(self, many):
        hidden = changed(many, lambda each: replace(each, ranked=False))

        assert curves_chart.figure(View(hidden)) is None

    def test_title_and_table_say_the_mean_at_what_is_sent(self, many):
        view = View(many)
        best = view.cells.index(view.best)
        drawing, other = curves_chart.figure(view).drawings
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
            replace(
                first,
                name=f"c{at:02}",
                floor=at == 0,
                scores={
                    name: replace(line, mean=1 - at / 100) for name, line in first.scores.items()
                },
            )
            for at in range(20)
        ]
        view = View(
            replace(
                many,
                records=(),
                run=replace(many.run, cells=cells, baseline="c19"),
            )
        )

        assert highlighted_cells(view) == {"c01", "c02", "c03", "c04", "c05", "c06", "c19"}


class TestTradeoffs:
    def test_the_front_is_what_no_other_beats(self):
        spots = {"a": (1, 0.2), "b": (2, 0.5), "c": (2, 0.4), "d": (3, 0.5), "e": (4, 0.6)}
        points = [{"name": name, "cost": x, "mean": y} for name, (x, y) in spots.items()]

        front = [point["name"] for point in tradeoffs.mark_front(points) if point["front"]]

        assert front == ["a", "b", "e"]

    def test_points_alike_in_both_are_both_on_it(self):
        points = [{"cost": 1, "mean": 0.5}] * 2

        assert all(point["front"] for point in tradeoffs.mark_front(points))

    def test_latency_is_the_median_and_tokens_the_mean_of_a_question(self, many):
        view = View(with_cells(many, lambda cell: replace(cell, embedder=None)))
        latency, tokens = tradeoffs.figure(view).drawings
        records = view.records(view.cells[0])
        used = [each.usage.tokens_in + (each.usage.tokens_out or 0) for each in records]
        taken = sorted(sum(each.seconds.values()) for each in records)

        assert (latency.label, tokens.label) == ("latency", "tokens")
        assert tokens.table.rows[0][2] == f"{sum(used) / len(used):,.0f} tokens"
        assert latency.table.rows[0][2] == f"{float(f'{taken[2] * 1000:.2g}'):g} ms"
        assert "milliseconds" in latency.wide

    def test_what_is_not_known_is_not_drawn(self, many):
        plain = changed(many, lambda each: replace(each, usage=None))
        timeless = changed(plain, lambda each: replace(each, seconds={}))

        assert tradeoffs.figure(View(timeless)) is None
        assert tradeoffs.figure(View(plain)) is None  # no seconds have the embedding of questions
        plain = with_cells(plain, lambda cell: replace(cell, embedder=None))
        assert [each.label for each in tradeoffs.figure(View(plain)).drawings] == ["latency"]


class TestDistribution:
    def test_tenths_hold_their_lower_end_and_the_last_1_too(self):
        values = [0.0, 0.09, 0.1, 0.3, 0.7, 0.95, 1.0, 1.0]

        assert histograms.count_tenths(values) == (2, 1, 0, 1, 0, 0, 0, 1, 0, 3)

    def test_the_title_counts_the_perfect_and_the_lost(self, many):
        best = View(many).best.name
        values = dict(zip(["day", "docks", "age", "helmet"], [1.0, 0.0, 0.0, 0.5], strict=True))

        def change(record):
            line = record.scores["passage_recall@2"]
            value = values.get(record.question) if record.cell == best else None
            line = replace(line, value=value, state="not_scored" if value is None else "scored")
            return replace(record, scores={**record.scores, "passage_recall@2": line})

        drawing = histograms.scores(View(changed(many, change))).drawings[0]

        assert drawing.title.startswith("The mean hides two groups: ")
        assert drawing.title.endswith(" is perfect on 1 question and at 0 on 2")
        assert drawing.table.rows[0][1:] == [*"2000010001", "2", "1", "4"]


class TestLengths:
    def test_there_is_a_histogram_a_chunker_and_none_for_what_is_not_known(self, many):
        made = {
            "markdown": ChunkLengths(
                chunks=3, median=50, shortest=20, longest=90, bins=[1, 2], width=50
            ),
            "fixed(size=60)": None,
        }
        view = View(with_cells(many, lambda c: replace(c, lengths=made[c.chunker])))
        without = View(with_cells(many, lambda c: replace(c, lengths=None)))

        drawing = histograms.lengths(view).drawings[0]
        assert drawing.title == "Half of the 3 chunks have 50 characters or more"
        assert drawing.table.rows == [["markdown", "3", "20", "50", "90"]]
        assert histograms.lengths(without) is None

    def test_the_title_compares_medians(self, many):
        def line(chunker):
            median = 40.0 if chunker == "markdown" else 60.0
            return ChunkLengths(
                chunks=2, median=median, shortest=1, longest=70, bins=[0, 2], width=40
            )

        view = View(with_cells(many, lambda c: replace(c, lengths=line(c.chunker))))

        title = histograms.lengths(view).drawings[0].title
        assert title.endswith("markdown cuts shorter chunks than fixed(size=60): "
                              "median 40 characters against 60")  # fmt: skip


def lost(stored, stages, **more):
    """The run as it would be had each cell lost its questions at these stages, by question."""
    return changed(
        stored,
        lambda each: replace(each, lost_at=stages.get(each.question), error=None, **more),
    )


STAGES = {"day": "none", "docks": "retrieval", "age": "retrieval", "helmet": "generation"}


class TestLosses:
    def test_each_question_with_evidence_is_counted_once(self, many):
        view = View(lost(many, STAGES))

        assert {k: v for k, v in losses_chart.count_losses(view, view.cells[0]).items() if v} == {
            "none": 1, "retrieval": 2, "generation": 1,
        }  # fmt: skip

    def test_failed_ones_stand_beside_unless_they_could_not_be_answered_anyway(self, many):
        error = Failure(stage="generation", reason="gone")
        stored = lost(many, {"day": "none"})
        failed = changed(
            stored,
            lambda r: replace(r, error=error if r.question in ("age", "ceo") else None),
        )
        view = View(failed)

        assert {k: v for k, v in losses_chart.count_losses(view, view.cells[0]).items() if v} == {
            "none": 1, "failed": 1,
        }  # fmt: skip

    def test_title_and_section_name_the_largest_loss(self, many):
        view = View(lost(many, STAGES, traced_to=9))
        name = view.name(view.best)
        said, figure, *_ = losses.blocks(view)

        assert figure.drawings[0].title == f"Retrieval loses 2 of 4 questions of {name}"
        assert said.text == (
            "Most are lost at retrieval: 8 of 12 in all configurations. "
            f"With {name} the largest loss is retrieval, 2 of 4 questions."
        )

    def test_segments_lead_to_their_questions(self, many):
        drawing = losses_chart.figure(View(lost(many, STAGES))).drawings[0]

        for number in range(4):
            assert f'href="#questions?lost=retrieval&amp;cell={number}"' in drawing.wide
        assert drawing.wide.count("<a ") == drawing.narrow.count("<a ") == 12
        assert drawing.wide.count('aria-label="retrieval: 2, ') == 4

    def test_what_the_index_may_have_lost_is_said_where_nobody_can_tell(self, many):
        _, _, note, *_ = losses.blocks(View(lost(many, STAGES, traced_to=None)))

        assert note.text.startswith(
            "Not known for all configurations: what exact search would have found."
        )

    def test_nothing_is_said_where_no_question_could_be_followed(self, many):
        assert losses.blocks(View(lost(many, {}))) == []

    def test_nothing_lost_is_said_as_such(self, many):
        said, figure, *_ = losses.blocks(View(lost(many, dict.fromkeys(STAGES, "none"))))

        assert said.text == "No question that could be followed was lost at any stage."
        assert figure.drawings[0].title.endswith(" lost none of 4 questions")


class TestDifferences:
    def drawn(self, *rows):
        made = [
            PlottedDifference(
                f"c{at}", difference, difference - 0.1, difference + 0.1, Mark(1, 0), sure
            )
            for at, (difference, sure) in enumerate(rows)
        ]
        return differences_chart.figure("best", "ndcg@10", made).drawings[0]

    @pytest.mark.parametrize(
        ("rows", "title"),
        [
            ([(0.2, True)], "best beats the other"),
            ([(0.2, True), (0.3, True)], "best beats all 2 others"),
            (
                [(0.2, True), (0.1, False)],
                "best is shown to beat 1 of 2 others; 1 is too close to call",
            ),
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
        row = PlottedDifference("c", -0.25, -0.35, -0.15, Mark(0, 1), False, 0.0123, 15)
        table = differences_chart.figure("best", "m", [row]).drawings[0].table

        assert table.rows == [["c", "−0.25", "−0.35 to −0.15", "0.01", "15"]]

    def test_there_is_none_without_others(self):
        assert differences_chart.figure("best", "ndcg@10", []) is None

    def test_a_difference_of_nothing_is_drawn(self):
        row = PlottedDifference("c", 0.0, None, None, Mark(0, 1), False)

        assert "<svg" in differences_chart.figure("best", "m", [row]).drawings[0].narrow


def empty(stored):
    bare = replace(stored.run, cells=[], status="failed")
    return replace(stored, run=bare, records=())


def failed(stored):
    nothing = Aggregate(
        mean=0.0, mean_finished=None, low=None, high=None, n=5, failed=5, not_scored=0,
        metric_failed=0, method="none", note="n = 5 is under 6",
    )  # fmt: skip
    return with_cells(
        stored,
        lambda cell: replace(cell, failed=5, scores=dict.fromkeys(cell.scores, nothing)),
    )


def unscored(stored):
    line = next(iter(stored.run.cells[0].scores.values()))
    none = replace(line, mean=None, low=None, high=None)
    return with_cells(stored, lambda c: replace(c, scores=dict.fromkeys(c.scores, none)))


class TestRunsOfEveryKind:
    @pytest.mark.parametrize("chart", EACH)
    def test_a_run_without_cells_has_no_chart(self, chart, many):
        assert chart(View(empty(many))) is None

    def test_one_cell_has_its_curves_and_nothing_to_compare(self, one):
        view = View(one)

        assert len(curves_chart.figure(view).drawings) == 2
        assert tradeoffs.figure(view) is None

    @pytest.mark.parametrize("kind", [failed, unscored])
    def test_sections_of_a_run_that_came_to_nothing_are_made(self, kind, many):
        view = View(kind(many))

        assert isinstance([*curves_section.blocks(view), *losses.blocks(view)], list)

    def test_the_section_says_what_colours_and_shapes_tell(self, many, one):
        said = curves_section.blocks(View(many))[0].text

        assert said.startswith("Colour tells how a configuration retrieves. ")
        assert "A filled circle is " in said
        assert not any(hasattr(each, "text") for each in curves_section.blocks(View(one)))
