"""What follows from ratings: means, agreement, which metrics agree with people, and weights."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from harness.comparison import operand
from harness.comparison.compare_runs import Options, compare_operands
from harness.metrics import metrics
from harness.people import correlations, rating_statistics
from harness.people.composite_weights import EQUAL_WEIGHTS, suggest_weights
from harness.people.correlations import RatedValues
from harness.people.ratings import (
    RATINGS,
    RATINGS_FORMAT,
    AnswerRating,
    RatedChunk,
    rated_answers,
)
from harness.records import Span
from harness.report import comparison, comparison_blocks, terminal
from harness.report.charts import people_chart as chart
from harness.report.document import Fold, Paragraph, Quotation
from harness.report.sections.people import agreement_blocks, comments_blocks, weights_blocks
from harness.stats.intervals import mean_interval
from tests.support import compared, runs_made
from tests.support.rated import OVERALL


def line(question, grade=None, cells=("a",), rater="1", chunks=(), **more):
    """Return a line of a form; chunks are graded in the order of their numbers."""
    said = {"overall": None if grade is None else OVERALL[grade], "correctness": grade}
    graded = [
        RatedChunk(span=Span(doc="d", start=at, end=at + 1), grade=each)
        for at, each in enumerate(chunks)
        if each is not None
    ]
    fields = {"source": "form", "form": "f", "rater": rater, "chunks": graded, **said, **more}
    return AnswerRating(cells=tuple(cells), question=question, **fields)


def thumb(question, up, cell="a"):
    return AnswerRating(
        source="thumb", form="t", rater="", cells=(cell,), question=question, thumb=up
    )


class TestMeans:
    def test_what_several_said_of_one_answer_is_averaged_first(self):
        lines = [line("q0", 0), line("q0", 2, rater="2"), line("q1", 3), line("q2", 1, ["b"])]

        said = rating_statistics.cell_ratings("a", rated_answers(lines), lines)

        assert (said.aspects["overall"].value, said.aspects["overall"].n) == (2.0, 2)
        assert said.aspects["overall"].reason == "n = 2 is under 6"
        assert "helpfulness" not in said.aspects
        assert (said.relevant, said.thumbs) == (None, None)

    def test_intervals_are_on_the_scale_of_the_grades(self):
        lines = [line(f"q{at}", grade) for at, grade in enumerate([0, 1, 1, 2, 2, 3, 3, 3, 2, 1])]

        found = rating_statistics.cell_ratings("a", rated_answers(lines), lines).aspects["overall"]

        assert found.value == pytest.approx(1.8)
        ends = mean_interval([each / 3 for each in [0, 1, 1, 2, 2, 3, 3, 3, 2, 1]])
        assert (found.low, found.high) == pytest.approx((3 * ends.low, 3 * ends.high))

    def test_whole_clusters_are_drawn_of_grades_and_of_thumbs(self):
        lines = [line(f"q{at}", [0, 3, 1, 2, 3, 1, 0][at // 6]) for at in range(42)]
        lines += [thumb(f"q{at}", at // 6 % 2) for at in range(42)]
        clusters = {f"q{at}": str(at // 6) for at in range(42)}

        alone = rating_statistics.cell_ratings("a", rated_answers(lines), lines)
        whole = rating_statistics.cell_ratings("a", rated_answers(lines), lines, clusters)
        few = rating_statistics.cell_ratings(
            "a", [], lines, {f"q{at}": str(at // 9) for at in range(42)}
        )

        for one, other in (
            (alone.aspects["overall"], whole.aspects["overall"]),
            (alone.thumbs, whole.thumbs),
        ):
            assert one.value == other.value
            assert other.high - other.low > 1.5 * (one.high - one.low)
        assert few.thumbs.reason == "independent questions: 5, under 6"

    def test_chunks_are_relevant_from_2_on(self):
        lines = [line("q0", chunks=[0, 1, 2, 3]), line("q1", chunks=[3, None])]

        said = rating_statistics.cell_ratings("a", rated_answers(lines), lines)

        assert said.relevant.value == (0.5 + 1) / 2
        assert said.aspects["chunks"].value == (1.5 + 3) / 2

    def test_thumbs_have_wilsons_interval_and_questions_with_several_are_drawn_whole(self):
        once = [thumb(f"q{at}", at < 7) for at in range(10)]

        found = rating_statistics.cell_ratings("a", [], once).thumbs
        several = rating_statistics.cell_ratings("a", [], once * 3).thumbs

        assert (found.value, found.n) == (0.7, 10)
        assert (found.low, found.high) == pytest.approx((0.3968, 0.8922), abs=1e-4)
        assert (several.value, several.n) == (0.7, 30)
        assert several.high - several.low > 0.35  # thirty alone would have 0.32

    def test_an_answer_that_several_cells_gave_counts_for_each_and_is_one_answer(self):
        lines = [
            line("q0", 1, ["a", "b"]),
            line("q0", 3, ["b", "c"], rater="2"),
            line("q0", 2, ["d"]),
        ]

        answers = rated_answers(lines)

        assert [each.cells for each in answers] == [("a", "b", "c"), ("d",)]
        cells = [rating_statistics.cell_ratings(name, answers, lines) for name in "abcd"]
        assert [cell.aspects["overall"].value for cell in cells] == [
            2.0, 2.0, 2.0, 2.0,
        ]  # fmt: skip


class TestAgreement:
    def test_is_over_what_two_rated_and_says_of_how_many(self):
        # Overall by raters 1 and 2: (0, 0), (1, 2), (3, 3); q3 by one alone; chunks by both.
        lines = [line("q3", 2)]
        for at, (one, other) in enumerate([(0, 0), (1, 2), (3, 3)]):
            lines += [
                line(f"q{at}", one, chunks=[1, 2]),
                line(f"q{at}", other, rater="2", chunks=[1]),
            ]

        found = {x.aspect: x for x in rating_statistics.agreements(rated_answers(lines))}

        assert list(found) == ["overall", "correctness", "chunks"]
        assert found["overall"].kappa.value == pytest.approx(26 / 29)
        assert (found["overall"].kappa.n, found["overall"].pairs) == (3, 1)
        # Coincidences: (1, 2) and (2, 1); seen 2 * 5; by chance, of 0 0 1 2 3 3, ordered pairs:
        # 2 (2*1 + 2*4 + 4*9 + 1 + 2*4 + 2*1) = 114.
        assert found["overall"].interval.value == pytest.approx(1 - 2 * 5 / 114)
        assert found["chunks"].ordinal.reason == "everything got the same grade"
        assert found["chunks"].ordinal.n == 3

    def test_kappa_is_of_the_pair_that_shares_most(self):
        lines = [line(f"q{at}", at % 4, rater=who) for at in range(8) for who in ("1", "2")]
        lines += [line("q0", 3, rater="3"), line("q1", 0, rater="3")]

        (overall, _) = rating_statistics.agreements(rated_answers(lines))

        assert (overall.kappa.value, overall.kappa.n, overall.pairs) == (1.0, 8, 3)
        assert overall.ordinal.value < 1.0

    def test_words_name_their_source(self):
        lines = [line(f"q{at}", at % 4, rater=who) for at in range(16) for who in ("1", "2")]
        lines[0] = line("q0", 1)

        table, note = agreement_blocks(rating_statistics.agreements(rated_answers(lines)))

        assert table.rows[0][1].endswith("; n = 16), almost perfect")
        assert table.rows[0][2].endswith("; n = 16), reliable")
        assert "Landis & Koch, 1977" in note.text
        assert "Krippendorff, 2004" in note.text
        assert "not known" in agreement_blocks([])[0].text

    def test_there_is_no_word_where_there_is_no_interval(self):
        # Fifteen chunks of five questions, and the same grades by both of eight answers.
        few = [line(f"q{at}", chunks=[at % 4, at % 3, 2], rater=x) for at in range(5) for x in "12"]
        same = [line(f"q{at}", at % 4, rater=x) for at in range(8) for x in "12"]

        (chunks,) = agreement_blocks(rating_statistics.agreements(rated_answers(few)))[0].rows
        overall = agreement_blocks(rating_statistics.agreements(rated_answers(same)))[0].rows[0]

        assert chunks[1] == "+1.00 (independent questions: 5, under 6; n = 15)"
        assert overall[1:3] == ["+1.00 (the same in every resample; n = 8)"] * 2

    def test_whole_clusters_are_drawn(self):
        draw = np.random.default_rng(2)
        grades = draw.integers(0, 4, (10, 2))
        lines = [
            line(f"q{at}", int(grades[at // 6, who]), rater=str(who))
            for at in range(60)
            for who in (0, 1)
        ]
        answers = rated_answers(lines)

        alone = rating_statistics.agreements(answers)[0]
        whole = rating_statistics.agreements(answers, {f"q{at}": str(at // 6) for at in range(60)})[
            0
        ]

        for one, other in ((alone.kappa, whole.kappa), (alone.ordinal, whole.ordinal)):
            assert one.value == other.value
            assert other.high - other.low > 1.5 * (one.high - one.low)


def planted(answers=60, noise=0.0, composite=True, seed=1):
    """Return the table of a run whose people graded 0.7 token_f1 + 0.3 rougeL, in four steps."""
    draw = np.random.default_rng(seed)
    columns = draw.random((answers, 3))
    wanted = columns @ np.array([0.7, 0.3, 0.0]) + noise * draw.normal(size=answers)
    grades = np.searchsorted(np.quantile(wanted, [0.25, 0.5, 0.75]), wanted)
    scores = dict(zip(("token_f1", "rougeL", "bleu"), columns.T.tolist(), strict=True))
    scores |= {"hit_rate@5": [grade / 3 for grade in grades], "exact_match": [1.0] * answers}
    if composite:
        scores["composite"] = columns[:, 2].tolist()
    stored = runs_made.stored({"a": scores})
    lines = [
        line(f"q{at}", int(grade), chunks=[int(grade)], rater="1")
        for at, grade in enumerate(grades)
    ]
    return RatedValues(stored, rated_answers(lines))


class TestCorrelations:
    def test_a_metric_that_agrees_perfectly_has_rho_1_and_comes_first(self):
        found = correlations.correlations(planted())

        assert found[0].metric == "hit_rate@5"
        assert found[0].overall.value == pytest.approx(1.0)
        assert found[0].chunks.value == pytest.approx(1.0)
        assert (found[0].of, found[0].overall.n) == ("retrieval", 60)
        about = {each.metric: each for each in found}
        assert about["token_f1"].overall.low > 0.6
        assert about["bleu"].overall.low < 0 < about["bleu"].overall.high
        assert (about["token_f1"].chunks, about["composite"].of) == (None, "composite")

    def test_a_column_that_does_not_vary_has_none_and_says_why(self):
        found = correlations.correlations(planted())

        assert found[-1].metric == "exact_match"
        assert found[-1].overall.value is None
        assert found[-1].overall.reason == "the metric does not vary"

    def test_the_interval_draws_questions_not_answers(self):
        draw = np.random.default_rng(5)
        shared = draw.random(15)
        scores = {cell: {"token_f1": shared.tolist()} for cell in "abcd"}
        grades = np.clip(np.round(shared * 3 + draw.normal(size=15)), 0, 3).astype(int).tolist()
        lines = [line(f"q{at}", grade, [x]) for at, grade in enumerate(grades) for x in "abcd"]
        once = [line(f"q{at}", grade, ["a"]) for at, grade in enumerate(grades)]
        stored = runs_made.stored(scores)

        (four,) = correlations.correlations(RatedValues(stored, rated_answers(lines)))
        (one,) = correlations.correlations(RatedValues(stored, rated_answers(once)))

        assert four.overall.value == pytest.approx(one.overall.value)
        assert (four.overall.n, one.overall.n) == (60, 15)
        assert four.overall.low == pytest.approx(one.overall.low, abs=0.02)

    def test_the_interval_draws_whole_clusters(self):
        draw = np.random.default_rng(5)
        shared = np.repeat(draw.random(12), 5)
        grades = np.clip(np.round(shared * 3 + np.repeat(draw.normal(size=12), 5)), 0, 3)
        lines = [line(f"q{at}", int(grade)) for at, grade in enumerate(grades)]
        made = runs_made.stored({"a": {"token_f1": shared.tolist()}})
        drawn = runs_made.stored(
            {"a": {"token_f1": shared.tolist()}}, clusters=[str(at // 5) for at in range(60)]
        )

        (alone,) = correlations.correlations(RatedValues(made, rated_answers(lines)))
        (whole,) = correlations.correlations(RatedValues(drawn, rated_answers(lines)))

        one, other = alone.overall, whole.overall
        assert one.value == other.value
        assert other.high - other.low > 1.5 * (one.high - one.low)

    def test_each_metric_is_over_the_answers_that_it_has_a_value_of(self):
        # token_f1 and bleu know q0 to q8, rougeL q3 to q11: in the grades' order, and against it.
        up = [float(at) for at in range(12)]
        scores = {"token_f1": up, "rougeL": up, "bleu": up}
        table = RatedValues(
            runs_made.stored(
                {"a": {name: [x / 12 for x in each] for name, each in scores.items()}}
            ),
            rated_answers([line(f"q{at}", at // 3) for at in range(12)]),
        )
        of = table.metric
        none = [np.nan] * 3
        table.metric = lambda name: (
            np.array([*none, *of(name)[:2:-1]])
            if name == "rougeL"
            else np.array([*of(name)[:9], *none])
        )

        found = {each.metric: each.overall for each in correlations.correlations(table)}

        assert {name: each.n for name, each in found.items()} == dict.fromkeys(found, 9)
        assert found["token_f1"] == found["bleu"]
        # Ranks 1 to 9 against 2 2 2 5 5 5 8 8 8: 54 / sqrt(60 * 54).
        assert found["token_f1"].value == pytest.approx(54 / (60 * 54) ** 0.5)
        assert found["rougeL"].value == pytest.approx(-54 / (60 * 54) ** 0.5)

    def test_a_judges_metric_is_called_so(self):
        stored = runs_made.stored({"a": {"faithfulness": [at / 10 for at in range(10)]}})
        lines = [line(f"q{at}", at // 3) for at in range(10)]

        found = correlations.correlations(RatedValues(stored, rated_answers(lines)))

        assert found[0].judged
        assert chart.table(found).rows[0][0] == "faithfulness (asks a judge)"

    def test_the_chart_says_which_agrees_most_or_that_none_does(self):
        found = correlations.correlations(planted(noise=0.1))
        against = [each for each in found if each.metric == "bleu"]

        title = chart.figure(found).drawings[0].title
        assert title == "hit_rate@5 agrees most with people: +1.00"
        assert chart.figure(against).drawings[0].title == (
            "No metric is shown to agree with people"
        )
        assert chart.figure([]) is None


class TestWeights:
    def test_the_planted_ones_are_found_and_shown_to_be_better_than_the_present(self):
        found = suggest_weights(planted(120))

        weights = [found.weights.get(each, 0.0) for each in ("token_f1", "rougeL", "bleu")]
        assert weights == pytest.approx([0.7, 0.3, 0.0], abs=0.05)
        assert sum(found.weights.values()) == pytest.approx(1.0)
        assert (found.against, found.n, found.better) == ("composite", 120, True)
        assert found.own.value > 0.9
        assert found.gain.value == pytest.approx(found.own.value - found.present.value)
        (spec,) = yaml.safe_load(found.yaml)["metrics"]
        assert metrics.build(spec).parts == tuple(found.weights)

    def test_29_answers_are_too_few_and_30_are_enough(self):
        few, enough = suggest_weights(planted(29)), suggest_weights(planted(30))

        said = "people rated 29 answers to answerable questions overall, under 30"
        assert (few.weights, few.reason) == ({}, said)
        assert enough.reason == ""
        assert (
            weights_blocks(suggest_weights(planted(29)))[0].text
            == f"None are suggested: {few.reason}."
        )

    def test_answers_are_told_by_weights_that_saw_none_of_their_question(self):
        # Noise alone: fitted to what they are tried on, weights would seem to agree.
        found = [suggest_weights(planted(40, noise=50.0, seed=seed)) for seed in range(8)]

        values = [each.own.value for each in found if each.own is not None]
        assert len(values) > 3
        assert abs(float(np.mean(values))) < 0.15
        assert not any(each.better for each in found)

    def test_without_a_composite_they_are_held_against_equal_weights(self):
        blocks = weights_blocks(suggest_weights(planted(60, composite=False)))

        assert suggest_weights(planted(60, composite=False)).against == EQUAL_WEIGHTS
        assert EQUAL_WEIGHTS in blocks[0].text
        assert isinstance(blocks[1], Quotation)
        assert blocks[1].text.startswith('metrics:\n  - composite: {weights: "0.')

    def test_it_is_said_where_they_are_not_shown_to_be_better(self):
        table = planted(60)
        one, other = table.metric("token_f1"), table.metric("rougeL")
        best = 0.7 * one + 0.3 * other
        table.metric = lambda name, of=table.metric: best if name == "composite" else of(name)

        assert not suggest_weights(table).better
        assert (
            "They are not shown to agree better" in weights_blocks(suggest_weights(table))[0].text
        )

    def test_a_metric_that_many_answers_have_no_value_of_is_left_out(self):
        table = planted(60)
        of = table.metric
        holes = {"rougeL": 30, "bleu": 10}
        table.metric = lambda name: np.where(np.arange(60) < holes.get(name, 0), np.nan, of(name))

        found = suggest_weights(table)

        assert found.n == 50
        assert "rougeL" not in found.weights

    def test_answers_to_unanswerable_questions_do_not_count(self):
        # They have no value of metrics of answers: 20 of 80 would leave less than four in five.
        table = planted(80)
        of, questions = table.metric, table.stored.questions
        for at in range(20):
            line = questions[f"q{at}"]
            questions[f"q{at}"] = replace(line, answerable=False)
        table.metric = lambda name: np.where(np.arange(len(of(name))) < 20, np.nan, of(name))

        found = suggest_weights(table)

        assert (found.n, found.reason) == (60, "")
        assert found.weights["token_f1"] > 0.5

    def test_the_reason_why_there_are_none_is_the_true_one(self):
        def reason(**holes):
            table = planted(40)
            of = table.metric
            table.metric = lambda name: np.where(
                np.isin(np.arange(len(of(name))), holes.get(name, ())), np.nan, of(name)
            )
            return suggest_weights(table).reason

        rated = "people rated 40 answers to answerable questions overall, and "
        none = range(40)
        assert reason(token_f1=none, rougeL=none, bleu=none) == (
            f"{rated}fewer than two quality metrics of answers have a value of four in five of them"
        )
        assert reason(rougeL=none, bleu=none) == (
            f"{rated}fewer than two quality metrics of answers tell answers apart"
        )
        assert reason(token_f1=range(8), rougeL=range(8, 16)) == (
            f"{rated}the metrics to be weighted all have a value of only 24 of them, under 30"
        )


class TestComments:
    def test_the_worst_come_first_and_20_are_shown(self):
        lines = [line("q0", 3, comment="fine"), line("q0", 0, rater="2", comment="bad")]
        lines += [line("q0", 2, rater=str(at + 3), comment=f"c{at}") for at in range(25)]
        questions = runs_made.stored({"a": {"recall": [1.0]}}).questions

        (fold,) = comments_blocks(lines, questions)

        assert isinstance(fold, Fold)
        assert fold.title == "27 comments, the first 20"
        assert fold.blocks[0].items[:2] == ["q0 — poor: bad", "q0 — good: c0"]
        assert len(fold.blocks[0].items) == 20
        assert comments_blocks([line("q0", 1)], questions) == []


LOW, HIGH = [0.0] * 20, [1.0] * 15 + [0.0] * 5


class TestTwoRatedRuns:
    def sides(self, tmp_path, before, after, scores=(LOW, HIGH), named=None, **more):
        """Return the two sides of a comparison whose people gave these grades, q0 first.

        `more` are arguments of `run`, by side.
        """
        found = []
        for id_, grades, values in (("old", before, scores[0]), ("new", after, scores[1])):
            run = compared.run({"a": {"hit": values, "mrr": [0.5] * 20}}, id_, **more.get(id_, {}))
            run = replace(run, folder=tmp_path / id_)
            run.folder.mkdir()
            names = named(id_) if named else range(20)
            lines = [line(f"q{at}", grade) for at, grade in zip(names, grades, strict=False)]
            (run.folder / RATINGS).write_text("".join(map(RATINGS_FORMAT.line, lines)))
            found.append(operand.operand_from_run(run))
        return found

    def test_a_metric_that_rose_while_ratings_did_not_is_flagged_everywhere(self, tmp_path):
        found = compare_operands(*self.sides(tmp_path, [1, 2] * 10, [2, 1] * 10))

        (pair,) = found.pairs
        said = "hit rose; people’s ratings are not shown to have (mean overall grade, 0 to 3: "
        assert pair.people.said.startswith(f"{said}difference 0.00, ")
        assert pair.people.said.endswith(", n = 20).")
        assert pair.people.alone == ("hit",)
        assert list(comparison_blocks.sentences(found, pair))[-1] == pair.people.said
        shown = " ".join(terminal.render(comparison_blocks.blocks(found)).split())
        assert "people’s ratings are not shown to have" in shown
        assert "people’s ratings are not shown to have" in comparison.render_html(found)
        assert comparison.as_dict(found)["cells"][0]["people"]["difference"]["value"] == 0.0

    def test_ratings_that_rose_while_a_metric_did_not_are_flagged(self, tmp_path):
        (pair,) = compare_operands(
            *self.sides(tmp_path, [0] * 20, [2] * 10 + [3] * 10, (LOW, LOW))
        ).pairs

        assert pair.people.rose
        assert pair.people.said.startswith("People’s ratings rose (mean overall grade, 0 to 3: ")
        assert "difference +2.50" in pair.people.said
        assert pair.people.said.endswith("; not shown to rise: hit and mrr.")

    def test_nothing_is_said_where_both_rose_apart_from_what_stood_still(self, tmp_path):
        pair = compare_operands(
            *self.sides(tmp_path, [0] * 20, [3] * 20), Options(metrics=["hit"])
        ).pairs[0]

        assert (pair.people.rose, pair.people.said) == (True, "")

    def test_other_questions_on_the_two_sides_are_not_compared(self, tmp_path):
        grades = [1, 2, 1, 2, 1, 2, 1, 2]
        made = self.sides(
            tmp_path, grades, grades, named=lambda id_: range(8) if id_ == "old" else range(8, 16)
        )

        assert compare_operands(*made).pairs[0].people is None

    def test_ratings_that_fell_while_a_metric_rose_are_said_to_have_fallen(self, tmp_path):
        (pair,) = compare_operands(*self.sides(tmp_path, [2, 3] * 10, [1, 2] * 9 + [2, 2])).pairs

        assert (pair.people.rose, pair.people.fell) == (False, True)
        assert pair.people.said.startswith("hit rose; people’s ratings fell (mean overall grade")
        assert "difference −0.95, " in pair.people.said

    def test_a_rise_of_few_clusters_is_not_shown(self, tmp_path):
        # Of seven clusters four rose and one fell: 12 and 3 of 20 questions, if each were alone.
        steps = [1, 1, 1, 1, -1, 0, 0]
        after = [1 + steps[at // 3] for at in range(20)]
        drawn = {"clusters": [str(at // 3) for at in range(20)]}
        (tmp_path / "drawn").mkdir()

        alone = compare_operands(*self.sides(tmp_path, [1] * 20, after)).pairs[0].people
        made = self.sides(tmp_path / "drawn", [1] * 20, after, old=drawn, new=drawn)
        whole = compare_operands(*made).pairs[0].people

        assert alone.difference.value == pytest.approx(9 / 20)
        assert whole.difference.value == pytest.approx(9 / 20)
        assert (alone.rose, whole.rose) == (True, False)
        assert alone.difference.low > whole.difference.low

    def test_a_question_that_was_changed_is_not_paired(self, tmp_path):
        changed = {f"q{at}": {"text": "another"} for at in range(12)}
        (pair,) = compare_operands(
            *self.sides(tmp_path, [0] * 12 + [2] * 8, [3] * 12 + [2] * 8, new={"texts": changed})
        ).pairs

        assert (pair.people.difference.value, pair.people.difference.n) == (0.0, 8)

    def test_of_too_few_ratings_nothing_is_said(self, tmp_path):
        (pair,) = compare_operands(*self.sides(tmp_path, [1, 2], [2, 2])).pairs

        assert (pair.people.said, pair.people.difference.reason) == ("", "n = 2 is under 6")

    def test_runs_that_nobody_rated_say_nothing(self):
        (pair,) = compare_operands(
            compared.side({"a": {"hit": LOW}}, "old"), compared.side({"a": {"hit": HIGH}})
        ).pairs

        assert pair.people is None


def test_a_section_of_texts_alone_is_still_a_section():
    assert isinstance(weights_blocks(suggest_weights(planted(5)))[0], Paragraph)
