"""`import ratings`: what people said of a run is added to it, and nothing else is."""

import json
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from harness import api
from harness.errors import DataError, HarnessError
from harness.people.rating_statistics import agreements
from harness.people.ratings import RATINGS, AnswerRating, rated_answers, read
from harness.store import reader
from tests.support import small
from tests.support.damage import unsealed
from tests.support.rated import form, item, saved


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a stored run of two cells, and the key of a form of it."""
    found = small.stored(tmp_path_factory.mktemp("made"), chunkers=["markdown"])
    one, two = (cell.name for cell in found.run.cells)
    form(found, [("day", [one, two]), ("docks", [one]), ("age", [two]), ("helmet", [one])])
    return found


@pytest.fixture
def run(made, tmp_path):
    """Return a copy of the run."""
    folder = tmp_path / "run"
    shutil.copytree(made.folder, folder)
    return folder


def lines(run):
    return read(reader.load(run))


def problems(paths, run, **more):
    """Return the problems that an import is refused for; nothing is changed by it."""
    before = sorted((path, path.read_bytes()) for path in run.rglob("*") if path.is_file())
    with pytest.raises(DataError) as caught:
        api.import_ratings(paths, run, **more)
    assert sorted((p, p.read_bytes()) for p in run.rglob("*") if p.is_file()) == before
    return [(each.where, each.what) for each in caught.value.problems]


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """Return a stored run of one cell."""
    folder = tmp_path_factory.mktemp("single")
    return small.stored(folder, chunkers=["markdown"], retrievers=["bm25"])


@pytest.fixture
def lone(single, tmp_path):
    """Return a copy of the run of one cell."""
    folder = tmp_path / "lone"
    shutil.copytree(single.folder, folder)
    return folder


class TestForms:
    def test_what_was_saved_is_in_the_run_and_its_report(self, run, tmp_path):
        grades = item("i0", 2, [3, 0], helpfulness=1, comment=" a <b>fee</b> is missing ")
        first = saved(tmp_path / "one.json", [grades, item("i1", 3)], name="Ann")
        second = saved(tmp_path / "two.json", [item("i0", 0, [1, None])], rater=2)

        said = api.import_ratings([first, second], run)

        assert said.splitlines() == [
            "form form1, rater 1 (Ann): 2 answers",
            "form form1, rater 2: 1 answer",
            *(str(run / name) for name in (RATINGS, "report.html", "report.md")),
        ]
        found = lines(run)
        cells = tuple(cell.name for cell in reader.load(run).run.cells)
        assert [(x.rater, x.name, x.item, x.cells, x.question) for x in found] == [
            ("1", "Ann", "i0", cells, "day"),
            ("1", "Ann", "i1", cells[:1], "docks"),
            ("2", "", "i0", cells, "day"),
        ]
        assert [chunk.grade for chunk in found[0].chunks] == [3, 0]
        assert [chunk.grade for chunk in found[2].chunks] == [1]
        assert (found[0].overall, found[0].helpfulness) == ("good", 1)
        assert found[0].saved == "2025-11-21T10:00:00.000+00:00"
        page, text = (run / "report.html").read_text(), (run / "report.md").read_text()
        assert "## What people said" in text
        assert "2 people rated 2 answers to 2 questions, 1 of them by more than one." in text
        # Answers: day 2 and 0, so 1; docks 3. Chunks of day: 1.5 and 1; relevant: 1 / 2 and 0.
        assert "2.00 (n = 2 is under 6)" in text
        assert "1.25 (n = 1 is under 6; n = 1)" in text
        assert "25 % (n = 1 is under 6; n = 1)" in text
        assert "under 30" in text
        assert "<b>fee" not in page
        assert "&lt;b&gt;fee&lt;/b&gt; is missing" in page

    def test_an_item_that_nobody_rated_is_no_line_and_null_is_never_0(self, run, tmp_path):
        file = tmp_path / "r.json"

        api.import_ratings([saved(file, [item("i0"), item("i1", None, [None, 0])])], run)

        (line,) = lines(run)
        assert (line.item, line.overall, line.correctness) == ("i1", None, None)
        assert [chunk.grade for chunk in line.chunks] == [0]

    def test_the_newer_file_of_a_rater_replaces_the_older_whichever_comes_first(
        self, run, tmp_path
    ):
        old = saved(tmp_path / "old.json", [item("i0", 1), item("i1", 1)])
        new = saved(tmp_path / "new.json", [item("i0", 3)], at="2025-11-21T12:30:00+02:00")
        api.import_ratings([old, saved(tmp_path / "x.json", [item("i0", 0)], rater=2)], run)

        said = api.import_ratings([new], run)
        again = api.import_ratings([old], run)

        assert "in place of 2 answers saved before" in said
        assert "saved before what is there already: left out" in again
        assert [(x.rater, x.overall) for x in lines(run)] == [("1", "excellent"), ("2", "poor")]
        both = (run / RATINGS).read_bytes()
        api.import_ratings([new, old], run)
        assert (run / RATINGS).read_bytes() == both

    def test_all_problems_of_all_files_are_said_at_once_and_nothing_is_changed(self, run, tmp_path):
        one = saved(
            tmp_path / "one.json",
            [item("i0", 1), item("i0", 1), item("zz", 1), item("i1", 1, [1])],
        )
        two = saved(tmp_path / "two.json", [item("i0", 1, correctness=4, overall="bad")])
        three = saved(tmp_path / "three.json", [], rater=3)
        four = saved(tmp_path / "four.json", [], form_="../../../etc/passwd")
        five = tmp_path / "five.txt"

        found = problems([one, two, three, four, five], run)

        assert found == [
            (str(five), "is no .json, .jsonl or .csv file"),
            (f"{one}, item 2", "'i0' is there twice"),
            (f"{one}, item 3", "'zz' is not in the form"),
            (f"{one}, item 4", "1 grades of chunks, and 'i1' has 2"),
            (str(two), "items.0.correctness: Input should be less than or equal to 3, found 4"),
            (
                str(two),
                "items.0.overall: Input should be 'poor', 'fair', 'good' or 'excellent', "
                "found 'bad'",
            ),
            (f"{three}, rater", "3 is not from 1 to 2"),
            (str(four), "form '../../../etc/passwd' is none of this run"),
        ]

    def test_a_rater_may_only_rate_what_was_given_to_them(self, run, tmp_path):
        path = run / "forms" / "form1.json"
        key = json.loads(path.read_text())
        key["items"][0]["raters"] = [2]
        path.write_text(json.dumps(key))

        found = problems([saved(tmp_path / "r.json", [item("i0", 1)])], run)

        assert [what for _, what in found] == ["'i0' was not given to rater 1"]

    def test_a_form_of_another_run_is_refused(self, run, tmp_path):
        form(reader.load(run), [], run="another")
        file = saved(tmp_path / "r.json", [])

        found = problems([file], run)

        assert [what for _, what in found] == [
            "is the key to a form of another run, 'another'",
            "form 'form1' is none of this run",
        ]

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"\xff\xfe", "Invalid JSON: expected value"),
            (b"[" * 100_000, "Invalid JSON: recursion limit exceeded"),
            (b'{"harness_ratings": NaN}', "harness_ratings: Input should be 1, found nan"),
            (b"[]", "Input should be an object"),
            (b'{"harness_ratings": 2}', "harness_ratings: Input should be 1, found 2"),
            (b'{"harness_ratings": 1, "items": 3}', "lacks 'form'"),
        ],
    )
    def test_a_file_that_no_form_saved_is_refused(self, run, tmp_path, content, said):
        path = tmp_path / "bad.json"
        path.write_bytes(content)

        assert problems([path], run)[0][1].startswith(said)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"correctness": True},
            {"correctness": 1.5},
            {"correctness": "2"},
            {"chunks": [9, 0]},
            {"comment": "x" * 10_001},
            {"more": 1},
        ],
    )
    def test_a_value_of_another_kind_is_refused(self, run, tmp_path, wrong):
        ((_, what),) = problems([saved(tmp_path / "r.json", [item("i0", 1, **wrong)])], run)

        assert what.startswith(f"items.0.{next(iter(wrong))}")

    def test_a_file_that_is_no_file_or_much_too_large_is_refused(self, run, tmp_path):
        large = tmp_path / "large.json"
        with large.open("wb") as file:
            file.truncate(20_000_001)

        found = problems([large, tmp_path / "none.json", tmp_path / "none.csv"], run)

        assert sorted(what for _, what in found) == [
            *["cannot be read: No such file or directory"] * 2,
            "cannot be read: it has 20,000,001 bytes, more than 20,000,000",
        ]

    def test_a_file_in_which_nothing_was_rated_takes_nothing_away(self, run, tmp_path):
        api.import_ratings([saved(tmp_path / "r.json", [item("i0", 1)])], run)
        none = saved(tmp_path / "none.json", [], at="2025-12-01")
        open_ = saved(tmp_path / "open.json", [item("i0"), item("i1", None, [None, None])])

        found = problems([none, open_], run)

        assert found == [(str(path), "has no item that was rated") for path in (none, open_)]

    @pytest.mark.parametrize(
        ("at", "said"),
        [
            ("9999-12-31T23:59:59-23:59", "it is out of range"),
            ("0001-01-01T00:00:00+23:59", "it is out of range"),
            ("9999-01-01T00:00:00Z", "it is in the future"),
        ],
    )
    def test_a_moment_that_cannot_be_is_refused(self, run, tmp_path, at, said):
        ((_, what),) = problems([saved(tmp_path / "r.json", [item("i0", 1)], at=at)], run)

        assert what == f"saved: {said}, found {at!r}"

    def test_a_clock_that_is_some_hours_ahead_is_taken(self, run, tmp_path):
        at = datetime.now(UTC) + timedelta(hours=20)

        api.import_ratings([saved(tmp_path / "r.json", [item("i0", 1)], at=at.isoformat())], run)

        assert len(lines(run)) == 1

    @pytest.mark.parametrize(
        ("names", "who"),
        [
            (("Ann", "  ann "), "1 person rated 2 answers to 2 questions."),
            (("Ann", "Bo"), "2 people rated 2 answers to 2 questions, 2 of them by more than one."),
            (("", ""), "Up to 2 people, on 2 forms, rated 2 answers to 2 questions."),
            (("Ann", ""), "Up to 2 people, on 2 forms, rated 2 answers to 2 questions."),
        ],
    )
    def test_two_forms_are_two_people_only_by_two_names(self, run, tmp_path, names, who):
        cells = tuple(cell.name for cell in reader.load(run).run.cells)
        form(reader.load(run), [("day", cells), ("docks", cells[:1])], id_="form2")
        files = [
            saved(tmp_path / f"{id_}.json", [item("i0", 1), item("i1", 2)], form_=id_, name=name)
            for id_, name in zip(("form1", "form2"), names, strict=True)
        ]

        api.import_ratings(files, run)

        text = (run / "report.md").read_text()
        assert who in text
        assert ("Nothing was rated by two people" in text) == (names != ("Ann", "Bo"))

    def test_a_moment_without_a_zone_is_utc_and_one_that_is_none_is_refused(self, run, tmp_path):
        api.import_ratings(
            [saved(tmp_path / "r.json", [item("i0", 1)], at="2025-11-21T10:00")], run
        )
        assert lines(run)[0].saved == "2025-11-21T10:00:00.000+00:00"

        found = problems([saved(tmp_path / "r.json", [item("i0", 1)], at="yesterday")], run)

        assert found[0][1].startswith("saved: Invalid isoformat string: 'yesterday'")


class TestAgreement:
    def agreed(self, *said):
        """Return kappa, its n and the pairs, of (form, rater, name, saved, two grades overall)."""
        fields = ("form", "rater", "name", "saved")
        some = [
            AnswerRating(
                source="form",
                cells=["a"],
                question=question,
                overall=overall,
                **dict(zip(fields, who, strict=True)),
            )
            for *who, grades in said
            for question, overall in zip(("q0", "q1"), grades, strict=True)
        ]
        found = agreements(rated_answers(some))
        return [(each.kappa.value, each.kappa.n, each.pairs) for each in found]

    def test_of_what_one_person_said_on_two_forms_the_later_is_held_against_others(self):
        bo = ("f", "2", "Bo", "", ("poor", "good"))
        early = ("g", "1", "Ann", "2025-01-01", ("good", "poor"))
        late = ("f", "1", "ANN", "2025-01-02", ("poor", "good"))

        assert self.agreed(early, late) == []
        assert self.agreed(early, late, bo) == [(1.0, 2, 1)]
        assert self.agreed(late, early, bo) == [(1.0, 2, 1)]

    def test_who_gave_no_name_agrees_with_others_of_one_form_only(self):
        one = ("f", "1", "", "", ("poor", "good"))
        two = ("f", "2", "", "", ("poor", "good"))
        elsewhere = ("g", "1", "", "", ("good", "poor"))

        assert self.agreed(one, elsewhere) == []
        assert self.agreed(one, two, elsewhere) == [(1.0, 2, 1)]


class TestThumbs:
    def rows(self, path, *rows):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def test_are_matched_by_id_or_text_and_the_rest_is_counted_and_listed(self, lone, tmp_path):
        file = self.rows(
            tmp_path / "t.jsonl",
            {"question": "day", "thumb": "up", "user": "ann@example.org"},
            {"question": "  HOW many docks has the\tharbour station? ", "thumb": -1},
            {"question": "age", "thumb": True, "comment": "good"},
            {"question": "What is love?", "thumb": "down"},
            {"question": "What is love?", "thumb": "down"},
        )

        said = api.import_ratings([file], lone).splitlines()

        assert said[0].endswith(": 3 thumbs, 2 up")
        assert said[1:3] == [
            "  2 thumbs on questions that the run was not asked, left out:",
            "    'What is love?' (2)",
        ]
        assert [(x.question, x.thumb) for x in lines(lone)] == [
            ("day", True),
            ("docks", False),
            ("age", True),
        ]
        assert "ann@" not in (lone / RATINGS).read_text()
        assert rated_answers(lines(lone)) == []
        text = (lone / "report.md").read_text()
        assert "3 thumbs came in, 2 of them up." in text
        assert "67 % (n = 3 is under 6; n = 3)" in text

    @pytest.mark.parametrize(
        "content",
        [
            "question,thumb,comment\nday,1,\n\nage,false,“no” \n",
            "Question;THUMB; Comment\r\nday;up;\r\nage;-1;“no”\r\n",
            "sep=;\r\nquestion;thumb;comment\r\nday;up;\r\nage;-1;“no”\r\n",
        ],
    )
    def test_csv_says_the_same(self, lone, tmp_path, content):
        path = tmp_path / "t.csv"
        path.write_bytes(content.encode("utf-8-sig"))

        api.import_ratings([path], lone)

        assert [(x.question, x.thumb, x.comment) for x in lines(lone)] == [
            ("day", True, ""),
            ("age", False, "“no”"),
        ]

    def test_the_same_file_again_changes_nothing_and_a_user_counts_once(self, lone, tmp_path):
        first = self.rows(
            tmp_path / "t.jsonl",
            {"question": "day", "thumb": "up", "user": 7},
            {"question": "day", "thumb": "down", "user": 8},
            {"question": "day", "thumb": "up"},
        )
        api.import_ratings([first], lone)
        before = (lone / RATINGS).read_bytes()
        api.import_ratings([first], lone)
        assert (lone / RATINGS).read_bytes() == before

        api.import_ratings(
            [self.rows(first, {"question": "day", "thumb": "down", "user": 7})], lone
        )

        assert sorted(x.thumb for x in lines(lone)) == [False, False, True]

    def test_a_file_that_grew_or_has_another_name_adds_only_what_is_new(self, lone, tmp_path):
        up, down = ({"question": "day", "thumb": each} for each in ("up", "down"))
        january = self.rows(tmp_path / "jan.jsonl", *[up] * 3)
        copy = self.rows(tmp_path / "copy.jsonl", *[up] * 3)
        grown = self.rows(tmp_path / "jan_feb.jsonl", *[up] * 3, down, up)

        api.import_ratings([january, copy], lone)
        assert [x.thumb for x in lines(lone)] == [True] * 3
        said = api.import_ratings([grown], lone).splitlines()

        assert said[0].endswith(": 5 thumbs, 4 up")
        assert said[1] == "  3 of them as imported before, left out: a `time` tells two apart"
        assert [x.thumb for x in lines(lone)] == [True, True, True, False, True]

    def test_an_old_file_imported_again_does_not_turn_a_thumb_back(self, lone, tmp_path):
        old = self.rows(tmp_path / "a.jsonl", {"question": "day", "thumb": "up", "user": "u"})
        new = self.rows(tmp_path / "b.jsonl", {"question": "day", "thumb": "down", "user": "u"})

        for file in (old, new, old):
            api.import_ratings([file], lone)

        assert [x.thumb for x in lines(lone)] == [False]
        assert "1 thumb came in, 0 of them up." in (lone / "report.md").read_text()
        back = [{"question": "day", "thumb": each, "user": "u"} for each in ("up", "down", "up")]
        api.import_ratings([self.rows(tmp_path / "c.jsonl", *back)], lone)
        assert [x.thumb for x in lines(lone)] == [True]

    def test_the_latest_by_time_counts_in_whatever_order_it_came(self, lone, tmp_path):
        vote = {"question": "day", "user": "u"}
        late = {**vote, "thumb": "up", "time": "2025-03-01T10:00:00+02:00"}
        early = {**vote, "thumb": "down", "time": "2025-03-01T07:00:00Z"}

        api.import_ratings([self.rows(tmp_path / "late.jsonl", late)], lone)
        api.import_ratings([self.rows(tmp_path / "early.jsonl", early)], lone)

        assert [(x.thumb, x.saved) for x in lines(lone)] == [
            (True, "2025-03-01T08:00:00.000+00:00")
        ]

    def test_two_that_say_the_same_at_other_times_are_two(self, lone, tmp_path):
        days = ("2025-03-01", "2025-03-02")
        for day in days:
            row = {"question": "day", "thumb": "up", "time": day}
            api.import_ratings([self.rows(tmp_path / f"{day}.jsonl", row)], lone)

        assert [x.saved[:10] for x in lines(lone)] == list(days)

    @pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "head.csv"])
    def test_a_file_without_thumbs_is_refused(self, lone, tmp_path, name):
        path = tmp_path / name
        path.write_text("question,thumb\n" if name == "head.csv" else "\n")

        assert problems([path], lone) == [(str(path), "has no thumbs")]

    def test_what_is_wrong_is_said_with_its_line(self, lone, tmp_path):
        file = self.rows(
            tmp_path / "t.jsonl",
            {"thumb": "up"},
            {"question": "day", "thumb": "sideways"},
            {"question": "day", "thumb": 1, "cell": "nowhere"},
            {"question": "day", "thumb": 1, "comment": ["x"]},
            [],
            {"question": "day", "thumb": 1, "time": "9000-01-01"},
            {"question": "day", "thumb": 1, "time": 1700000000},
        )

        assert problems([file], lone) == [
            (f"{file}, line 1", "lacks 'question'"),
            (
                f"{file}, line 2",
                "thumb: write up or down; or 1 or -1, true or false, found 'sideways'",
            ),
            (f"{file}, line 3", "cell 'nowhere' is not in the run"),
            (f"{file}, line 4", "comment: Input should be a valid string"),
            (f"{file}, line 5", "holds list, not an object"),
            (f"{file}, line 6", "time: it is in the future, found '9000-01-01'"),
            (f"{file}, line 7", "time: Invalid isoformat string: '1700000000', found 1700000000"),
        ]

    def test_of_several_cells_one_must_be_named(self, made, tmp_path):
        run = tmp_path / "several"
        shutil.copytree(made.folder, run)
        one, two = (cell.name for cell in made.run.cells)
        file = self.rows(tmp_path / "t.jsonl", {"question": "day", "thumb": 1})

        ((_, what),) = problems([file], run)
        assert what == "names no cell, and the run has several"
        with pytest.raises(HarnessError, match="--cell: no cell has the name 'x'"):
            api.import_ratings([file], run, "x")

        api.import_ratings([file], run, two)
        row = {"question": "age", "thumb": 1, "cell": one}
        api.import_ratings([self.rows(tmp_path / "u.jsonl", row)], run, two)
        assert [x.cells for x in lines(run)] == [(two,), (one,)]


class TestKept:
    def test_a_run_that_nobody_rated_has_no_such_section(self, made):
        assert "What people said" not in (made.folder / "report.md").read_text()

    @pytest.mark.parametrize("line", ["{}", "nothing", "\x00", "[" * 10_000])
    def test_a_damaged_file_of_ratings_says_where(self, run, line):
        (run / RATINGS).write_text(line + "\n")
        unsealed(run)

        with pytest.raises(DataError, match=r"line 1: .*\n +delete it, and import"):
            lines(run)

    def test_a_line_on_what_the_run_lacks_is_refused(self, run, tmp_path):
        api.import_ratings([saved(tmp_path / "r.json", [item("i0", 1)])], run)
        text = (run / RATINGS).read_text()
        (run / RATINGS).write_text(text.replace('"question":"day"', '"question":"gone"'))
        unsealed(run)

        with pytest.raises(DataError, match="the run lacks its question or its cell"):
            lines(run)
