"""The page of a comparison and its Markdown: safe, whole, and looked at in a browser."""

import re

import pytest

from harness.comparison import operand
from harness.comparison.compare_runs import compare_operands
from harness.report.comparison import render_html as render
from harness.report.comparison import render_markdown as markdown
from harness.report.comparison import write
from harness.report.markdown import MAX_BYTES
from tests.support.browser import opened
from tests.support.compared import run, told

BEFORE = [1.0] * 12 + [0.5] * 30
AFTER = [0.0] * 12 + [0.25] * 20 + [1.0] * 10
HOSTILE = '</pre><script>alert(1)</script>"><img src=x onerror=alert(1)> `x` | *b* \x00\x1b @all #1'


def made(names=("a",), text="A pass", doc="fares.md"):
    before, after = (
        told(run({n: {"recall": each} for n in names}, id_, texts=_texts(text)), text, doc, text)
        for id_, each in (("old", BEFORE), ("new", AFTER))
    )
    return compare_operands(operand.operand_from_run(before), operand.operand_from_run(after))


def _texts(text):
    return {"q0": {"text": text, "answers": [text], "category": text[:20]}}


def test_twenty_lost_questions_are_shown_and_how_many_more_there_are():
    page = render(made())

    assert "32 questions lost" in page
    assert "12 more lost" in page
    assert "10 questions won" in page
    lost = page[page.index("<h3>32 questions lost") : page.index("<h3>10 questions won")]
    assert lost.count("<details") == 20
    assert lost.index("1.00 → 0.00") < lost.index("0.50 → 0.25")


def test_both_rankings_and_both_answers_stand_side_by_side():
    page = render(made())

    fold = page[page.index("1.00 → 0.00 · A pass") :].partition("</details>")[0]
    assert fold.count("<pre>A pass</pre>") == 2
    assert [fold.count(f"<figcaption>{side}") for side in ("Before 1.00", "After 0.00")] == [1, 1]
    assert fold.count(">✓ fares.md: A pass</td>") == 2


def test_texts_of_others_stay_text():
    page = render(made(text=HOSTILE, doc=HOSTILE, names=[HOSTILE]))

    assert "<script" not in page
    assert "<img" not in page
    assert "\x00" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page


def test_texts_of_others_stay_text_in_markdown_too():
    text = markdown(made(text=HOSTILE, doc=HOSTILE, names=[HOSTILE]), "page.html")

    inert = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert not re.search(r"(?<!\\)<(script|img)", inert)
    assert "\\|" in inert


def test_nothing_is_loaded_and_no_script_is_allowed():
    page = render(made())

    assert "default-src 'none'; style-src 'sha256-" in page
    assert "<script" not in page
    assert " style=" not in page
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)


def test_markdown_has_at_most_60_kb_and_says_what_is_left_out():
    names = [f"cell {at}" for at in range(250)]

    text = markdown(made(names), "compare-old.html")

    assert len(text.encode()) <= MAX_BYTES
    assert text.endswith("*What is left out is in [compare-old.html](compare-old.html).*\n")


@pytest.mark.parametrize(
    ("id_", "name"),
    [("old", "old"), ("baseline main", "baseline-main"), ("../../x", "x"), ("a/b", "a-b")],
)
def test_the_baselines_name_is_part_of_the_files_names(tmp_path, id_, name):
    side = operand.operand_from_run(run({"a": {"recall": BEFORE}}, id_))

    page, text = write(
        compare_operands(side, operand.operand_from_run(run({"a": {"recall": AFTER}}))), tmp_path
    )

    assert (page.name, text.name) == (f"compare-{name}.html", f"compare-{name}.md")
    assert page.parent == tmp_path


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window_without_complaint(browser, tmp_path, width, scheme):
    file, _ = write(made(["a", "b × c"]), tmp_path)

    window = {"width": width, "height": 900}
    with opened(browser, file, viewport=window, color_scheme=scheme) as page:
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.locator("h1").inner_text() == "Shown by some metric: 2 of 2 cells worse."
