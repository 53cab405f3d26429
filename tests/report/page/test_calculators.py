"""Calculators of metrics in a browser: their values are those of the library."""

import itertools
import random

import pytest
from axe_playwright_python.sync_playwright import Axe

from harness.metrics import metrics
from harness.records import Case, Judged, Question
from harness.report import page as scripts
from tests.support.browser import opened

PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Calculators</title>'
    "<style>{style}</style></head><body><main><h1>Calculators</h1>"
    '<div data-calculator="ndcg"></div><div data-calculator="mrr"></div>'
    '<div data-calculator="precision"></div></main><script>{script}</script></body></html>'
)


@pytest.fixture(scope="module")
def window(browser, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "calculators.html"
    file.write_text(PAGE.format(style=scripts.style(), script=scripts.calculators()), "utf-8")
    with opened(browser, file, viewport={"width": 900, "height": 1400}) as page:
        yield page


@pytest.fixture
def page(window):
    window.reload()
    return window


def score(spec, grades, missed=()):
    inventory = sorted((grade for grade in [*grades, *missed] if grade), reverse=True)
    judged = Judged(tuple(grades), tuple(inventory))
    return metrics.build(spec).score(Case(Question("q", "?"), judged={"documents": judged})).value


def shown(page, name):
    return float(page.locator(f".measure[data-measure='{name}'] b").inner_text())


def grades(page):
    return [int(each.input_value()) for each in page.locator(".hits select").all()]


def test_ndcg_follows_every_move_grade_gain_and_cut(page):
    drawn = random.Random(5)
    for gain, k in itertools.product(("linear", "exponential"), ("", "2", "5")):
        page.get_by_label("Gain").first.select_option(gain)
        page.get_by_label("Counted").first.select_option(k)
        handle = page.locator(".hit .handle").nth(drawn.randrange(6))
        handle.press(drawn.choice(["Home", "End", "ArrowUp", "ArrowDown"]))
        page.locator(".hits select").nth(drawn.randrange(6)).select_option(str(drawn.randrange(4)))
        spec = f"ndcg(gain={gain})" + (f"@{k}" if k else "")
        assert shown(page, "nDCG") == pytest.approx(score(spec, grades(page)), abs=5.1e-5)


def test_results_are_dragged_and_escape_puts_them_back(page):
    first = grades(page)
    handle = page.locator(".hit .handle").nth(3).bounding_box()
    top = page.locator(".hit").nth(0).bounding_box()
    page.mouse.move(handle["x"] + 8, handle["y"] + 8)
    page.mouse.down()
    page.mouse.move(handle["x"] + 8, (handle["y"] + top["y"]) / 2, steps=3)
    page.mouse.move(handle["x"] + 8, top["y"] + 3, steps=3)
    page.mouse.up()

    assert grades(page) == [0, 3, 2, 3, 1, 2]
    assert page.locator("[role=status]").first.inner_text().startswith("Result D is at rank 1 now")
    assert shown(page, "nDCG") == pytest.approx(score("ndcg", grades(page)), abs=5.1e-5)
    page.keyboard.press("Escape")
    assert grades(page) == first


def test_mrr_is_the_mean_over_as_many_questions_as_one_likes(page):
    page.get_by_role("button", name="One more question").click()
    ranks = [2, 0, 10, 1]
    for number, rank in enumerate(ranks, 1):
        page.get_by_label(f"Question {number}", exact=True).select_option(str(rank))

    each = [score("mrr", [int(at == rank) for at in range(1, 11)], missed=[1]) for rank in ranks]
    assert shown(page, "MRR") == pytest.approx(sum(each) / 4, abs=5.1e-5)
    formula = page.locator(".measure[data-measure='MRR'] p").inner_text()
    assert formula == "(1/2 + 0 + 1/10 + 1/1) / 4 = 0.4000"


@pytest.mark.parametrize(("relevant", "k", "found"), [(5, 10, 3), (0, 0, 0), (20, 4, 4), (3, 8, 9)])
def test_precision_and_recall_follow_their_sliders(page, relevant, k, found):
    sliders = page.locator(".calculator input[type=range]")
    for slider, value in zip(sliders.all(), (relevant, k, found), strict=True):
        slider.fill(str(min(value, int(slider.get_attribute("max")))))
    there = min(relevant, k, found)
    judged = [1] * there + [0] * (k - there), [1] * (relevant - there)

    for name in ("precision", "recall", "f1"):
        value = score(f"{name}@{k}", *judged) if k else 0.0
        title = name.upper() if name == "f1" else name
        assert shown(page, f"{title}@k") == pytest.approx(value, abs=5.1e-5)


def test_axe_finds_nothing(page):
    violations = Axe().run(page).response["violations"]

    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in violations] == []
