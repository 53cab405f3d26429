"""The ranking that a reader can move: what it shows is what the library says of the moved one."""

import random
from pathlib import Path

import pytest

from harness import report
from harness.metrics import metrics
from harness.records import Case, Judged, Question
from tests.report.page.moved import DIVIDER, OWN, RUNS, SHOWN, USUAL, Moved, run
from tests.support.browser import opened

MEASURES = Path(report.__file__).parent / "page" / "measures.js"


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
            fingers.send(
                "Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points}
            )
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
        alone = (
            MEASURES.read_text(encoding="utf-8") + "\n; return { rr, ap, ndcg, precision, recall };"
        )
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
