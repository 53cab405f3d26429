"""The ranking that a reader can move: what it shows is what the library says of the moved one."""

import random
from pathlib import Path

import pytest

from harness import report, runner, scoring, store
from harness.config import load
from harness.metrics import metrics
from harness.records import Case, Chunk, Hit, Judged, Question, Span
from harness.relevance import judge_documents
from tests import small
from tests.browser import opened

MEASURES = Path(report.__file__).parent / "page" / "measures.js"
TOWNS = "Aber Brin Cole Dorn Esk Fell Garth Holm Inver Keld Lund Marsh Ness Oak Pell Rye".split()
DOCUMENTS = {
    f"{town.lower()}.md": f"# {town} 🚲\n\nThe day pass of {town} costs {at} dollars in summer.\n\n"
    f"Riders show the day pass at each station of {town} before a ride.\n\n"
    + "In winter no town sells a pass by the day, and each ride is paid for by itself.\n" * (at % 3)
    for at, town in enumerate(TOWNS)
}
ELSEWHERE = {"notes.md": "# Notes\n\nNobody pays on Sundays.\n", "law.md": "# Law\n\nAge is 14.\n"}
GRADED = {"Brin": 1, "Fell": 3, "Keld": 2, "Pell": 1, "Rye": 3}
EVIDENCE = [
    {"doc": f"{town.lower()}.md", "quote": f"The day pass of {town} costs", "grade": grade}
    for town, grade in GRADED.items()
]
QUESTIONS = [
    {
        "id": "pass",
        "question": "How many dollars is the day pass in summer?",
        "answers": ["It depends."],
        "evidence": [
            *EVIDENCE,
            {"doc": "notes.md", "quote": "Nobody pays on Sundays.", "grade": 2},
            {"doc": "law.md", "quote": "Age is 14.", "grade": 1},
            {"doc": "oak.md", "quote": "each ride is paid for by itself.", "grade": 2},
        ],
        "documents": {"brin.md": 1, "esk.md": 3, "lund.md": 0, "pell.md": 2, "notes.md": 3},
    },
    {"id": "king", "question": "Who is the king of the day pass?", "answerable": False},
]
USUAL = ("ndcg@10", "mrr@10", "ap@10", "precision@5", "recall@5")
OWN = ("ndcg(gain=exponential)@7", "rr@3", "map", "precision@3", "recall(rel=3)@8")
RUNS = {
    "evidence": ({"metrics": list(USUAL)}, USUAL),
    "options": ({"metrics": list(OWN), "relevance_level": 2}, OWN),
    "documents": ({"metrics": list(USUAL), "labels": "documents"}, USUAL),
    "others": ({"metrics": ["hit_rate@2", "token_f1"]}, USUAL),
}
SHOWN = 20
DIVIDER = None
READ = """() => ({
  values: [...document.querySelectorAll(".measure b")].map((value) => Number(value.textContent)),
  documents: [...document.querySelectorAll(".hit:not(.out) .doc")].map((doc) => doc.textContent),
  ranks: [...document.querySelectorAll(".hit:not(.out) .rank")].map((rank) => rank.textContent),
  said: document.querySelector(".ranking [role=status]").textContent,
  focused: document.activeElement.getAttribute("aria-label"),
})"""


def run(folder, **changes):
    settings = {
        "chunkers": [{"fixed": {"size": 80}}],
        "retrievers": ["bm25"],
        "retrieve": 26,
        "context": {"chunks": 4, "tokens": 400},
    }
    path = small.project(folder, QUESTIONS, **{**settings, **changes})
    for name, text in {**DOCUMENTS, **ELSEWHERE}.items():
        (folder / "corpus" / name).write_text(text, encoding="utf-8")
    return runner.run(runner.prepare(load(path, [], {})), lambda *_: None).folder


class Moved:
    """A ranking in the page, and beside it the same list moved in the same way."""

    def __init__(self, page, folder, specs):
        self.page = page
        stored = store.load(folder)
        self.labels = stored.run.provenance.labels
        self.level = stored.run.config["resolved"]["relevance_level"]
        self.metrics = [scoring.build(spec, self.labels, self.level).metric for spec in specs]
        record = next(line for line in stored.records if line.question == "pass")
        self.scores = record.scores
        self.inventory = record.judged[self.labels].inventory
        hits = [(hit.doc, hit.start, hit.grade) for hit in record.hits]
        self.hidden = hits[SHOWN:]
        far = [hit for hit in self.hidden if (hit[2] or 0) >= self.level]
        self.below = far + [(each.doc, each.start, each.grade) for each in record.missed]
        self.retrieved = [*hits[:SHOWN], DIVIDER, *self.below]
        self.order = self.retrieved

    @property
    def ranked(self):
        return self.order[: self.order.index(DIVIDER)]

    def move(self, hit, to):
        """Move a hit to a place of the list, or as near to it as it may go."""
        others = [other for other in self.order if other != hit]
        last = len(others) if hit in self.below else others.index(DIVIDER)
        at = min(max(to, 0), last)
        self.order = [*others[:at], hit, *others[at:]]

    def row(self, hit):
        at = [other for other in self.order if other is not DIVIDER].index(hit)
        return self.page.locator(".hit").nth(at)

    def press(self, hit, key):
        at = self.order.index(hit)
        places = {"ArrowUp": at - 1, "ArrowDown": at + 1, "Home": 0, "End": len(self.order)}
        self.row(hit).locator(".handle").press(key)
        self.move(hit, places[key])

    def case(self):
        hits = self.ranked + [hit for hit in self.hidden if hit not in self.ranked]
        if self.labels == "documents":
            made = [Hit(Chunk(0, Span(doc, at, at + 1), "x"), 0.0) for doc, at, _ in hits]
            judged = judge_documents(QUESTIONS[0]["documents"], made)
        else:
            judged = Judged(tuple(grade for *_, grade in hits), tuple(self.inventory))
        return Case(Question("pass", "?"), judged={self.labels: judged})

    def expected(self):
        """Return what the library says of the ranking as it is now."""
        case = self.case()
        return [metric.score(case).value for metric in self.metrics]

    def check(self):
        """See that the page shows this order and the library's values; returns what it shows."""
        found = self.page.evaluate(READ)
        assert found["documents"] == [doc for doc, *_ in self.ranked]
        assert found["ranks"] == [str(rank) for rank in range(1, len(self.ranked) + 1)]
        assert found["values"] == pytest.approx(self.expected(), abs=5.1e-5)
        return found


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The runs: made before the browser is there, as nothing may run beside it."""
    return {name: run(tmp_path_factory.mktemp(name), **RUNS[name][0]) for name in RUNS}


@pytest.fixture(scope="module")
def pages(folders, browser):
    """A page of each run, with the question open."""
    held = {}
    for name, folder in folders.items():
        window = opened(browser, folder / "report.html", viewport={"width": 1280, "height": 8000})
        held[name] = window, window.__enter__()
    yield {name: page for name, (_, page) in held.items()}
    for window, _ in held.values():
        window.__exit__(None, None, None)


@pytest.fixture(params=list(RUNS))
def moved(request, folders, pages):
    return reopened(request.param, folders, pages)


@pytest.fixture
def evidence(folders, pages):
    return reopened("evidence", folders, pages)


def reopened(name, folders, pages):
    page, folder = pages[name], folders[name]
    page.goto("about:blank")
    page.goto(f"{(folder / 'report.html').as_uri()}#q-pass")
    page.locator(".hit").first.wait_for()
    return Moved(page, folder, RUNS[name][1])


def test_it_begins_with_what_was_retrieved_and_the_scores_of_the_record(moved):
    found = moved.check()

    recorded = [line.value for name, line in moved.scores.items() if name in (*USUAL, *OWN)]
    assert not recorded or found["values"] == pytest.approx(recorded, abs=5.1e-5)
    assert moved.page.locator(".measure .change").all_inner_texts() == ["as retrieved"] * 5


def test_every_move_by_keyboard_shows_what_the_library_says_of_the_new_ranking(moved):
    drawn = random.Random(6)
    for _ in range(12):
        hit = drawn.choice([hit for hit in moved.order if hit is not DIVIDER])
        before = moved.order
        moved.press(hit, drawn.choice(["ArrowUp", "ArrowUp", "ArrowDown", "Home", "End"]))
        found = moved.check()
        inside = hit in moved.ranked
        rank = f"rank {moved.ranked.index(hit) + 1}" if inside else "not in the ranking"
        assert found["focused"] == f"Move {hit[0]}, {rank}"
        if moved.order != before:
            title = moved.page.locator(".measure").first.locator("span").first.inner_text()
            value = moved.page.locator(".measure b").first.inner_text()
            place = f"at {rank}" if inside else rank
            assert found["said"] == f"{hit[0]} is {place} now, {title} {value}"


def test_what_was_missed_can_be_pulled_in_and_put_back(moved):
    relevant = list(moved.below)
    assert {hit in moved.hidden for hit in relevant} == {True, False}
    ndcg = moved.expected()[0]
    for hit in relevant:
        moved.press(hit, "Home")
        moved.check()
    assert moved.expected()[0] > ndcg

    for hit in relevant:
        moved.press(hit, "End")
        moved.check()
    assert sorted(moved.ranked) == sorted(moved.retrieved[:SHOWN])


def test_a_result_that_was_retrieved_stays_in_the_ranking(evidence):
    last = evidence.ranked[-1]

    evidence.press(last, "ArrowDown")

    assert evidence.order == evidence.retrieved
    evidence.check()
    down = evidence.row(last).locator(".down")
    assert down.get_attribute("aria-disabled") == "true"


def test_a_result_is_dragged_to_where_the_pointer_lets_it_go(moved):
    places = [(3, 0), (0, 6), (9, 2), (len(moved.retrieved) - 1, 1)]
    for start, end in places:
        hit, target = moved.order[start], moved.order[end]
        handle = moved.row(hit).locator(".handle").bounding_box()
        box = moved.row(target).bounding_box()
        mouse, x = moved.page.mouse, handle["x"] + 8
        mouse.move(x, handle["y"] + 8)
        mouse.down()
        mouse.move(x, (handle["y"] + box["y"]) / 2, steps=3)
        mouse.move(x, box["y"] + 3 if end < start else box["y"] + box["height"] - 3, steps=3)
        mouse.up()
        moved.move(hit, end)
        found = moved.check()
        assert found["said"].startswith(f"{hit[0]} is at rank {end + 1} now, ")
        assert found["focused"] == f"Move {hit[0]}, rank {end + 1}"


def test_a_finger_drags_too(folders, browser):
    name = "evidence"
    address = f"{(folders[name] / 'report.html').as_uri()}#q-pass"
    phone = {"viewport": {"width": 390, "height": 2400}, "has_touch": True, "is_mobile": True}
    with opened(browser, **phone) as page:
        page.goto(address)
        page.locator(".hit").first.wait_for()
        moved = Moved(page, folders[name], RUNS[name][1])
        hit = moved.order[4]
        handle = moved.row(hit).locator(".handle")
        handle.scroll_into_view_if_needed()
        at, top = handle.bounding_box(), moved.row(moved.order[2]).bounding_box()
        fingers = page.context.new_cdp_session(page)
        x, y = at["x"] + 8, at["y"] + 8
        for kind, height in [("Start", y), ("Move", y - 20), ("Move", top["y"] + 3), ("End", None)]:
            points = [] if height is None else [{"x": x, "y": height}]
            fingers.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
        moved.move(hit, 2)
        moved.check()
        pinned = page.locator(".pinned b").all_inner_texts()
        assert pinned == page.locator(".measure b").all_inner_texts()


def test_the_arrows_beside_a_result_move_it_and_keep_the_focus(evidence):
    hit = evidence.order[2]
    for name, step in [("up", -1), ("up", -1), ("down", 1)]:
        at = evidence.order.index(hit)
        evidence.row(hit).locator(f".{name}").click()
        evidence.move(hit, at + step)
        assert evidence.check()["focused"] == f"Move {hit[0]} {name}"
    assert evidence.order.index(hit) == 1


def test_escape_restores_what_was_retrieved_and_then_closes_the_question(evidence):
    hit = evidence.order[5]
    evidence.press(hit, "Home")
    assert evidence.check()["values"] != pytest.approx(
        [evidence.scores[name].value for name in USUAL], abs=5.1e-5
    )

    evidence.page.keyboard.press("Escape")

    evidence.order = evidence.retrieved
    found = evidence.check()
    assert found["said"].startswith("As retrieved, nDCG@10 ")
    assert found["focused"] == f"Move {hit[0]}, rank 6"
    evidence.page.keyboard.press("Escape")
    evidence.page.locator(".hit").first.wait_for(state="detached")


def test_the_button_restores_what_was_retrieved_and_leaves_the_focus_in_the_list(evidence):
    evidence.press(evidence.order[5], "Home")

    evidence.page.get_by_role("button", name="As retrieved").click()

    evidence.order = evidence.retrieved
    assert evidence.check()["focused"] == f"Move {evidence.order[0][0]}, rank 1"


def test_the_line_where_the_prompt_ends_stays_at_its_place(evidence):
    for key in ("Home", "End", "ArrowUp"):
        evidence.press(evidence.order[7], key)
        rows = evidence.page.locator(".hits > li").all_inner_texts()
        assert rows[4] == "top 4 ends here"


def test_a_change_is_told_with_its_sign_and_the_formula_holds_the_numbers(evidence):
    first = next(hit for hit in evidence.order if hit and hit[2] == 3)
    before = evidence.expected()[0]

    evidence.press(first, "Home")

    row = evidence.page.locator(".measure").first
    after = evidence.expected()[0]
    sign = "+" if after > before else "−"
    assert row.locator(".change").inner_text() == f"{sign}{abs(after - before):.4f}"
    formula = row.locator("p span").all_inner_texts()
    assert formula[0].startswith("DCG = 3/log₂2")
    assert formula[1].startswith("ideal = 3/log₂2 + 3/log₂3 + ")
    assert formula[2].endswith(f" = {after:.4f}")


def test_evidence_is_marked_behind_characters_of_two_units(evidence):
    marked = evidence.page.locator(".hit mark").all_inner_texts()

    assert {f"The day pass of {town} costs" for town in ("Fell", "Rye")} <= set(marked)


def test_a_question_without_a_label_shows_its_ranking_without_handles(folders, pages):
    page = pages["evidence"]
    page.goto(f"{(folders['evidence'] / 'report.html').as_uri()}#q-king")
    page.locator(".hit").first.wait_for()

    assert page.locator(".handle").count() == 0
    assert "nobody can say which results are relevant" in page.locator(".worth").inner_text()


SPECS = {
    "ndcg": ["ndcg@{k}", "ndcg", "ndcg(gain=exponential)@{k}", "ndcg(ideal=retrieved)@{k}"],
    "rr": ["mrr@{k}", "mrr", "mrr(rel=2)@{k}"],
    "ap": ["ap@{k}", "ap", "ap(rel=2)@{k}", "ap(denominator=retrieved)@{k}"],
    "precision": ["precision@{k}", "precision(rel=3)@{k}", "precision(denominator=retrieved)@{k}"],
    "recall": ["recall@{k}", "recall(rel=2)@{k}"],
}


def test_the_measures_alone_equal_the_library_on_random_rankings(browser):
    drawn = random.Random(7)
    asked, expected = [], []
    for _ in range(300):
        grades = drawn.choices([None, -1, 0, 0, 0, 1, 2, 3, 5], k=drawn.randrange(25))
        missed = drawn.choices([1, 1, 2, 4], k=drawn.randrange(5))
        there = sorted([grade for grade in [*grades, *missed] if grade and grade > 0], reverse=True)
        inventory = drawn.choice([there, there, there, [], None])
        judged = Judged(tuple(grades), None if inventory is None else tuple(inventory))
        for name, specs in SPECS.items():
            metric = metrics.build(drawn.choice(specs).format(k=drawn.randint(1, 20)))
            options = {key: value for key, value in vars(metric).items() if value is not None}
            if "rel" in options:
                options["level"] = options.pop("rel")
            asked.append([name, {"grades": grades, "inventory": inventory}, options])
            expected.append(metric.score(Case(Question("q", "?"), judged={"documents": judged})))

    with opened(browser) as page:
        alone = MEASURES.read_text(encoding="utf-8") + "\n; return { rr, ap, ndcg, precision, recall };"
        found = page.evaluate(
            f"(asked) => {{ const all = (() => {{ {alone} }})();"
            " return asked.map(([name, judged, options]) => all[name](judged, options)); }",
            asked,
        )

    for each, score in zip(found, expected, strict=True):
        if score.value is None:
            assert each["value"] is None
        else:
            assert each["value"] == pytest.approx(score.value, abs=1e-12, rel=1e-12)
            last = each["formula"].rpartition(" = ")[2].rpartition(": ")[2]
            assert float(last) == pytest.approx(each["value"], abs=5.1e-5)
