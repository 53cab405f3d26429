"""What follows from ratings: means, agreement, which metrics agree with people, and weights."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from harness.comparing import sides, words
from harness.comparing.as_json import as_dict
from harness.comparing.comparison import Options
from harness.comparing.runs import comparison
from harness.comparing.text import text
from harness.metrics import metrics
from harness.people import agreeing, correlations, means, reading
from harness.people.correlations import Table
from harness.people.weights import EQUAL, suggestion
from harness.report import comparison as comparison_page
from harness.report import peoplesaid
from harness.report.blocks import Fold, Passage, Text
from harness.report.charts import people as chart
from harness.report.peoplesaid import weighted
from harness.stored import RatedChunkLine, RatingLine, SpanLine
from tests import compared, runs_made
from tests.rated import OVERALL


def line(question, grade=None, cells=("a",), rater="1", chunks=(), **more):
    """Return a line of a form; chunks are graded in the order of their numbers."""
    said = {"overall": None if grade is None else OVERALL[grade], "correctness": grade}
    graded = [
        RatedChunkLine(span=SpanLine(doc="d", start=at, end=at + 1), grade=each)
        for at, each in enumerate(chunks)
        if each is not None
    ]
    fields = {"source": "form", "form": "f", "rater": rater, "chunks": graded, **said, **more}
    return RatingLine(cells=list(cells), question=question, **fields)


def thumb(question, up, cell="a"):
    return RatingLine(source="thumb", form="t", rater="", cells=[cell], question=question, thumb=up)


class TestMeans:
    def test_what_several_said_of_one_answer_is_averaged_first(self):
        lines = [line("q0", 0), line("q0", 2, rater="2"), line("q1", 3), line("q2", 1, ["b"])]

        said = means.of_cell("a", reading.rated(lines), lines)

        assert (said.aspects["overall"].value, said.aspects["overall"].n) == (2.0, 2)
        assert said.aspects["overall"].reason == "n = 2 is under 6"
        assert "helpfulness" not in said.aspects
        assert (said.relevant, said.thumbs) == (None, None)

    def test_intervals_are_on_the_scale_of_the_grades(self):
        lines = [line(f"q{at}", grade) for at, grade in enumerate([0, 1, 1, 2, 2, 3, 3, 3, 2, 1])]

        found = means.of_cell("a", reading.rated(lines), lines).aspects["overall"]

        assert found.value == pytest.approx(1.8)
        assert 0.9 < found.low < 1.8 < found.high < 2.5

    def test_chunks_are_relevant_from_2_on(self):
        lines = [line("q0", chunks=[0, 1, 2, 3]), line("q1", chunks=[3, None])]

        said = means.of_cell("a", reading.rated(lines), lines)

        assert said.relevant.value == (0.5 + 1) / 2
        assert said.aspects["chunks"].value == (1.5 + 3) / 2

    def test_thumbs_have_wilsons_interval_and_questions_with_several_are_drawn_whole(self):
        once = [thumb(f"q{at}", at < 7) for at in range(10)]

        found = means.of_cell("a", [], once).thumbs
        several = means.of_cell("a", [], once * 3).thumbs

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

        answers = reading.rated(lines)

        assert [each.cells for each in answers] == [("a", "b", "c"), ("d",)]
        assert [means.of_cell(x, answers, lines).aspects["overall"].value for x in "abcd"] == [
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

        found = {x.aspect: x for x in agreeing.agreements(reading.rated(lines))}

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

        (overall, _) = agreeing.agreements(reading.rated(lines))

        assert (overall.kappa.value, overall.kappa.n, overall.pairs) == (1.0, 8, 3)
        assert overall.ordinal.value < 1.0

    def test_words_name_their_source(self):
        lines = [line(f"q{at}", at % 4, rater=who) for at in range(8) for who in ("1", "2")]

        table, note = peoplesaid.agreed(agreeing.agreements(reading.rated(lines)))

        assert table.rows[0][1] == "+1.00 (the same in every resample; n = 8), almost perfect"
        assert table.rows[0][2] == "+1.00 (the same in every resample; n = 8), reliable"
        assert "Landis & Koch, 1977" in note.text
        assert "Krippendorff, 2004" in note.text
        assert "not known" in peoplesaid.agreed([])[0].text


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
    return Table(stored, reading.rated(lines))


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

        (four,) = correlations.correlations(Table(stored, reading.rated(lines)))
        (one,) = correlations.correlations(Table(stored, reading.rated(once)))

        assert four.overall.value == pytest.approx(one.overall.value)
        assert (four.overall.n, one.overall.n) == (60, 15)
        assert four.overall.low == pytest.approx(one.overall.low, abs=0.02)

    def test_a_judges_metric_is_called_so(self):
        stored = runs_made.stored({"a": {"faithfulness": [at / 10 for at in range(10)]}})
        lines = [line(f"q{at}", at // 3) for at in range(10)]

        found = correlations.correlations(Table(stored, reading.rated(lines)))

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
        found = suggestion(planted(120))

        weights = [found.weights.get(each, 0.0) for each in ("token_f1", "rougeL", "bleu")]
        assert weights == pytest.approx([0.7, 0.3, 0.0], abs=0.05)
        assert sum(found.weights.values()) == pytest.approx(1.0)
        assert (found.against, found.n, found.better) == ("composite", 120, True)
        assert found.own.value > 0.9
        assert found.gain.value == pytest.approx(found.own.value - found.present.value)
        (spec,) = yaml.safe_load(found.yaml)["metrics"]
        assert metrics.build(spec).parts == tuple(found.weights)

    def test_29_answers_are_too_few_and_30_are_enough(self):
        few, enough = suggestion(planted(29)), suggestion(planted(30))

        assert (few.weights, few.reason) == ({}, "people rated 29 answers overall, under 30")
        assert enough.reason == ""
        assert weighted(planted(29))[0].text == f"None are suggested: {few.reason}."

    def test_answers_are_told_by_weights_that_saw_none_of_their_question(self):
        # Noise alone: fitted to what they are tried on, weights would seem to agree.
        found = [suggestion(planted(40, noise=50.0, seed=seed)) for seed in range(8)]

        values = [each.own.value for each in found if each.own is not None]
        assert len(values) > 3
        assert abs(float(np.mean(values))) < 0.15
        assert not any(each.better for each in found)

    def test_without_a_composite_they_are_held_against_equal_weights(self):
        blocks = weighted(planted(60, composite=False))

        assert suggestion(planted(60, composite=False)).against == EQUAL
        assert EQUAL in blocks[0].text
        assert isinstance(blocks[1], Passage)
        assert blocks[1].text.startswith('metrics:\n  - composite: {weights: "0.')

    def test_it_is_said_where_they_are_not_shown_to_be_better(self):
        table = planted(60)
        one, other = table.metric("token_f1"), table.metric("rougeL")
        best = [0.7 * a + 0.3 * b for a, b in zip(one, other, strict=True)]
        table.metric = lambda name, of=table.metric: best if name == "composite" else of(name)

        assert not suggestion(table).better
        assert "They are not shown to agree better" in weighted(table)[0].text

    def test_a_metric_that_many_answers_have_no_value_of_is_left_out(self):
        table = planted(60)
        of = table.metric
        holes = {"rougeL": 30, "bleu": 10}
        table.metric = lambda name: [None] * holes.get(name, 0) + of(name)[holes.get(name, 0) :]

        found = suggestion(table)

        assert found.n == 50
        assert "rougeL" not in found.weights


class TestComments:
    def test_the_worst_come_first_and_20_are_shown(self):
        lines = [line("q0", 3, comment="fine"), line("q0", 0, rater="2", comment="bad")]
        lines += [line("q0", 2, rater=str(at + 3), comment=f"c{at}") for at in range(25)]
        questions = runs_made.stored({"a": {"recall": [1.0]}}).questions

        (fold,) = peoplesaid.comments(lines, questions)

        assert isinstance(fold, Fold)
        assert fold.title == "27 comments, the first 20"
        assert fold.blocks[0].items[:2] == ["q0 — poor: bad", "q0 — good: c0"]
        assert len(fold.blocks[0].items) == 20
        assert peoplesaid.comments([line("q0", 1)], questions) == []


LOW, HIGH = [0.0] * 20, [1.0] * 15 + [0.0] * 5


class TestTwoRatedRuns:
    def sides(self, tmp_path, before, after, scores=(LOW, HIGH), named=None):
        """Return the two sides of a comparison whose people gave these grades, q0 first."""
        found = []
        for id_, grades, values in (("old", before, scores[0]), ("new", after, scores[1])):
            run = compared.run({"a": {"hit": values, "mrr": [0.5] * 20}}, id_)
            run = replace(run, folder=tmp_path / id_)
            run.folder.mkdir()
            names = named(id_) if named else range(20)
            lines = [line(f"q{at}", grade) for at, grade in zip(names, grades, strict=False)]
            (run.folder / reading.RATINGS).write_text(
                "".join(f"{each.model_dump_json()}\n" for each in lines)
            )
            found.append(sides.of_run(run))
        return found

    def test_a_metric_that_rose_while_ratings_did_not_is_flagged_everywhere(self, tmp_path):
        found = comparison(*self.sides(tmp_path, [1, 2] * 10, [2, 1] * 10))

        (pair,) = found.pairs
        said = "hit rose; people’s ratings are not shown to have (mean overall grade, 0 to 3: "
        assert pair.people.said.startswith(f"{said}difference 0.00, ")
        assert pair.people.said.endswith(", n = 20).")
        assert pair.people.alone == ("hit",)
        assert list(words.sentences(found, pair))[-1] == pair.people.said
        assert "people’s ratings are not shown to have" in " ".join(text(found).split())
        assert "people’s ratings are not shown to have" in comparison_page.render(found)
        assert as_dict(found)["cells"][0]["people"]["difference"]["value"] == 0.0

    def test_ratings_that_rose_while_a_metric_did_not_are_flagged(self, tmp_path):
        (pair,) = comparison(*self.sides(tmp_path, [0] * 20, [2] * 10 + [3] * 10, (LOW, LOW))).pairs

        assert pair.people.rose
        assert pair.people.said.startswith("People’s ratings rose (mean overall grade, 0 to 3: ")
        assert "difference +2.50" in pair.people.said
        assert pair.people.said.endswith("; not shown to rise: hit and mrr.")

    def test_nothing_is_said_where_both_rose_apart_from_what_stood_still(self, tmp_path):
        pair = comparison(
            *self.sides(tmp_path, [0] * 20, [3] * 20), Options(metrics=["hit"])
        ).pairs[0]

        assert (pair.people.rose, pair.people.said) == (True, "")

    def test_other_questions_on_the_two_sides_are_not_paired_and_said_to_be_others(self, tmp_path):
        grades = [1, 2, 1, 2, 1, 2, 1, 2]
        made = self.sides(
            tmp_path, grades, grades, named=lambda id_: range(8) if id_ == "old" else range(8, 16)
        )

        (pair,) = comparison(*made).pairs

        assert not pair.people.paired
        assert "n = 8, other questions on the two sides" in pair.people.said

    def test_of_too_few_ratings_nothing_is_said(self, tmp_path):
        (pair,) = comparison(*self.sides(tmp_path, [1, 2], [1, 2])).pairs

        assert (pair.people.said, pair.people.difference.reason) == ("", "n = 2 is under 6")

    def test_runs_that_nobody_rated_say_nothing(self):
        (pair,) = comparison(
            compared.side({"a": {"hit": LOW}}, "old"), compared.side({"a": {"hit": HIGH}})
        ).pairs

        assert pair.people is None


def test_a_section_of_texts_alone_is_still_a_section():
    assert isinstance(weighted(planted(5))[0], Text)
