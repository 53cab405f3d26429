"""The browser of questions: what it lists, sorts and opens is what the stored run holds."""

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from harness import api, report
from harness.config.run_config import load
from harness.report import html
from harness.report.run_view import View
from harness.report.sections import parts
from harness.runs import runner
from harness.runs.outcomes import context_text
from harness.store import reader
from tests.support import small
from tests.support.browser import opened
from tests.support.damage import unsealed
from tests.support.many import many

SCRIPTS = Path(report.__file__).parent / "page"
NAMES = [f"{start}{end}" for start in ("Aber", "Brin", "Cole", "Dorn") for end in range(14)]
DOCUMENTS = {
    f"{name.lower()}.md": f"# {name}\n\nA day pass of {name} costs {10 + at} dollars.\n\n"
    f"The harbour of {name} has {100 + at} docks, and each of them opened in May of 2019.\n"
    for at, name in enumerate(NAMES)
}
QUESTIONS = [
    {
        "id": f"town-{at}",
        "question": f"What does a day pass cost in {name}?",
        "answers": [f"{10 + at} dollars"],
        "evidence": [{"doc": f"{name.lower()}.md", "quote": f"costs {10 + at} dollars."}],
        "category": "price" if at % 2 else "fare",
        "difficulty": "easy",
    }
    for at, name in enumerate(NAMES)
]
ODD = {
    "id": "50 % & ü/?#,",
    "question": "How many docks has the HARBOUR of Cole3? \U0001f6b2 <b>bold</b>",
    "answers": ["Café Müller: 131 docks"],
    "evidence": [{"doc": "cole3.md", "quote": "The harbour of Cole3 has 131 docks"}],
}
LOST = ("none", "chunking", "retrieval", "context", "generation")
VERDICT = {"of": "<i>claim</i>", "value": 2, "reason": "well said", "replies": ["raw {reply}"]}
READ = """() => [...document.querySelectorAll("tr.question")].map((row) => ({
  id: row.querySelector(".id").textContent,
  values: [...row.querySelectorAll("td.scored")].map((cell) => cell.dataset.value ?? null),
  lost: row.querySelector("td.lost").textContent,
}))"""


class Run:
    """A stored run as a test looks at it: records by cell and question, in order."""

    def __init__(self, folder):
        self.folder = folder
        self.view = View(reader.load(folder))
        self.questions = list(self.view.stored.questions)
        self.cells = [self.view.records(cell) for cell in self.view.cells]
        best = (self.view.shipped or self.view.best).name
        self.best = [cell.name for cell in self.view.cells].index(best)

    def record(self, question, cell=None):
        cells = self.cells[self.best if cell is None else cell]
        return next(record for record in cells if record.question == question)

    def value(self, question, metric=None, cell=None):
        return self.record(question, cell).scores[metric or self.view.by].value

    def where(self, test):
        return [question for question in self.questions if test(question)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A run of four configurations, in which one answer failed and one was judged and sampled."""
    folder = tmp_path_factory.mktemp("questions")
    changes = {
        "chunkers": [{"fixed": {"size": 45}}, "markdown"],
        "metrics": ["ndcg(labels=documents)@5", "passage_recall@2", "token_f1", "abstention"],
        "labels": "evidence",
    }
    path = small.project(folder, [*QUESTIONS, ODD], **changes)
    for name, text in DOCUMENTS.items():
        (folder / "corpus" / name).write_text(text, encoding="utf-8")
    rows = (folder / "testset.jsonl").read_text(encoding="utf-8").splitlines()
    judged = [{**json.loads(row), "documents": {doc(row): 1}} for row in rows]
    lines = "".join(json.dumps(row) + "\n" for row in judged)
    (folder / "testset.jsonl").write_text(lines, encoding="utf-8")
    made = api.run(runner.prepare(load(path, [], {})), lambda *_: None).folder
    change(made)
    report.write(made)
    return Run(made)


def doc(row):
    return json.loads(row)["evidence"][0]["doc"]


def change(folder):
    """Let records hold what a small run has not: a failure, verdicts, samples, every loss."""
    path = folder / "records.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for at, record in enumerate(records):
        lost = LOST[at % len(LOST)]
        record["lost_at"] = lost
        for passage in record["passages"]:
            passage["stage"] = None if lost in ("none", "generation") else lost
        record["context"] = record["context"] or ""
        record["answer"] = record["answer"] or ""
        if record["question"] == "town-3":
            score = record["scores"]["token_f1"]
            score |= {"verdicts": [VERDICT], "reason": "of two words <one>"}
            sample = {"answer": "it varies", "declined": False, "usage": None}
            record["samples"] = [{**sample, "scores": record["scores"]}] * 2
        if record["question"] == "town-4" and "markdown" in record["cell"]:
            record |= {"answer": None, "declined": None, "lost_at": None}
            record["error"] = {"stage": "generation", "reason": "no reply <within> 30 s"}
            for name in ("token_f1", "abstention"):
                record["scores"][name] |= {"value": None, "state": "failed", "reason": "failed"}
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    unsealed(folder)


@pytest.fixture(scope="module")
def window(stored, browser):
    with opened(browser, viewport={"width": 1280, "height": 1000}) as page:
        yield page


@pytest.fixture
def page(window, stored):
    window.goto("about:blank")
    return visit(window, stored)


def visit(window, stored, address=""):
    window.goto((stored.folder / "report.html").as_uri() + address)
    window.locator("tr.question").first.wait_for()
    return window


def count(page):
    return page.locator(".count").text_content()


def listed(page):
    return [row["id"] for row in page.evaluate(READ)]


def preset(page, name):
    page.get_by_role("group", name="Questions to show").get_by_role(
        "button", name=re.compile(name)
    ).click()


def everything(page, stored):
    preset(page, "^All")
    page.wait_for_function(
        f"() => document.querySelector('.count').textContent.startsWith('{all_of(stored)} of')"
    )


def all_of(stored):
    return len(stored.questions)


def awaited(page, ids):
    """See that exactly these questions are found, and that this is announced."""
    page.wait_for_function(
        "(said) => document.querySelector('.count').textContent.startsWith(said)",
        arg=f"{len(ids)} of 57 questions",
    )
    assert sorted(listed(page)) == sorted(ids[:50])
    assert page.locator(".count").get_attribute("role") == "status"


def said(page, text):
    page.locator(".count", has_text=re.compile(rf"^{re.escape(text)}, scores for ")).wait_for()


def opened_question(page, question):
    page.locator("tr.question", has=page.locator(f"text='{question}'")).locator("button").click()
    page.locator(".detail .facts").wait_for()


def test_it_begins_with_ten_to_read(page):
    assert count(page).startswith("10 of 57 questions, scores for ")
    assert len(listed(page)) == 10
    pressed = page.locator(".presets [aria-pressed=true]")
    assert pressed.all_text_contents() == ["Ten to read"]


def plain(text):
    parts = unicodedata.normalize("NFKD", text)
    return "".join(char for char in parts if not unicodedata.combining(char)).lower()


def findable(stored, question):
    """Return the text that a search of this question goes through."""
    line = stored.view.stored.questions[question]
    docs = [*(line.documents or {}), *(passage.span.doc for passage in line.passages)]
    answer = stored.record(question).answer or ""
    return plain("\n".join([line.id, line.text, *line.answers, *docs, answer]))


@pytest.mark.parametrize(
    ("typed", "one"),
    [
        ("IN DORN13", "town-55"),
        ("harbour of cole3", ODD["id"]),
        ("cafe muller", ODD["id"]),
        ("65 DOLLARS", "town-55"),
        ("brin2.md", "town-16"),
        ("<b>bold</b>", ODD["id"]),
        ("nothing says this", None),
    ],
)
def test_a_search_goes_through_questions_references_answers_and_documents(page, stored, typed, one):
    page.get_by_label("Search question").fill(typed)
    words = plain(typed).split()
    found = stored.where(lambda q: all(word in findable(stored, q) for word in words))
    assert one is None or one in found
    awaited(page, found)


def test_filters_combine_and_are_those_of_the_stored_run(page, stored):
    page.get_by_label("Category").select_option("price")
    page.get_by_label("Lost at").select_option("retrieval")
    wanted = [
        question
        for question in stored.questions
        if stored.record(question).lost_at == "retrieval"
        and stored.view.stored.questions[question].category == "price"
    ]
    assert wanted
    awaited(page, wanted)
    assert {row["lost"] for row in page.evaluate(READ)} == {"retrieval"}
    page.get_by_role("button", name="Clear").click()
    awaited(page, stored.questions)


def test_scores_are_filtered_from_and_to(page, stored):
    page.get_by_label("Score of").select_option("token_f1")
    page.get_by_label("score from").fill("0.1")
    page.get_by_label("score to").fill("0.5")
    values = {question: stored.value(question, "token_f1") for question in stored.questions}
    awaited(page, [q for q, value in values.items() if value is not None and 0.1 <= value <= 0.5])


def test_configurations_disagree_where_two_are_half_a_point_apart(page, stored):
    def apart(question):
        values = [stored.value(question, cell=cell) for cell in range(len(stored.cells))]
        known = [value for value in values if value is not None]
        return max(known) - min(known) >= 0.5

    wanted = stored.where(apart)
    preset(page, rf"^Configurations disagree \({len(wanted)}\)$")
    awaited(page, wanted)
    assert page.get_by_label("configurations disagree").is_checked()


def test_what_failed_in_any_configuration_is_found_and_said(page, stored):
    preset(page, r"^Failed \(1\)$")
    awaited(page, ["town-4"])
    failed = [at for at, _ in enumerate(stored.cells) if stored.record("town-4", at).error]
    page.locator(".filters select.focus").select_option(str(failed[0]))
    page.wait_for_function(
        "() => document.querySelector('td.lost').textContent.startsWith('failed')"
    )
    assert page.evaluate(READ)[0]["lost"] == "failedfailed in 1 more"
    opened_question(page, "town-4")
    assert "no reply <within> 30 s" in page.locator(".facts").text_content()
    assert "failed at generation" in page.locator(".answers").text_content()
    page.get_by_label("Lost at").select_option("failed")
    awaited(page, ["town-4"])


def test_a_heading_sorts_by_the_values_of_the_run_either_way_and_back(page, stored):
    everything(page, stored)
    questions = page.get_by_role("table", name="Questions", exact=True)
    heading = questions.get_by_role("columnheader", name="token_f1")
    values = {question: stored.value(question, "token_f1") for question in stored.questions}
    known = [question for question in stored.questions if values[question] is not None]
    upwards = sorted(known, key=values.get)
    downwards = sorted(known, key=lambda question: -values[question])
    assert len(known) >= 50
    assert upwards[:50] != downwards[:50] != stored.questions[:50]
    for wanted, direction in [(upwards, "ascending"), (downwards, "descending")] * 2:
        heading.get_by_role("button").click()
        assert listed(page) == wanted[:50]
        assert heading.get_attribute("aria-sort") == direction
    sorts = page.locator("table.questions > thead th").evaluate_all(
        "all => all.map((h) => h.ariaSort)"
    )
    assert Counter(sorts) == {"descending": 1, "none": len(sorts) - 1}


def test_fifty_rows_stand_at_first_and_more_on_request(page, stored):
    everything(page, stored)
    assert listed(page) == stored.questions[:50]
    page.get_by_role("button", name="Show 7 more").click()
    assert listed(page) == stored.questions
    assert page.evaluate("document.activeElement.dataset.question") == "50"
    assert page.locator(".more").is_hidden()


def test_an_opened_question_shows_every_score_with_its_reason(page, stored):
    everything(page, stored)
    opened_question(page, "town-3")
    shown = page.evaluate(
        """() => [...document.querySelectorAll(".scores tbody tr")].map((row) => [
          row.cells[0].textContent, Number(row.querySelector("b").dataset.value),
          row.cells[2].firstElementChild?.textContent ?? ""])"""
    )
    record = stored.record("town-3")
    assert [name for name, *_ in shown] == stored.view.metrics
    for name, value, reason in shown:
        assert value == pytest.approx(record.scores[name].value, abs=1e-5)
        if record.scores[name].reason:
            assert reason == record.scores[name].reason
    page.locator(".scores summary", has_text="1 verdict").click()
    page.locator(".verdicts summary", has_text="Raw reply").click()
    page.locator(".verdicts pre").wait_for()
    said = page.locator(".verdicts").text_content()
    assert all(text in said for text in ("<i>claim</i>", "2", "well said", "raw {reply}"))


def test_words_that_answer_and_reference_share_are_marked_in_both(page, stored):
    question = next(
        q for q in stored.questions if (stored.value(q, "token_f1") or 0) > 0 and q != "town-4"
    )
    visit(page, stored, f"#q-{question}")
    page.locator(".answers").wait_for()
    marks = page.locator(".answers .answer").evaluate_all(
        "all => all.map((p) => [...p.querySelectorAll('mark')].map((m) => m.textContent).join(' '))"
    )
    record = stored.record(question)
    reference = stored.view.stored.questions[question].answers[0]

    def words(text):
        return re.findall(r"\w+", text.lower())

    assert words(marks[0]) == [w for w in words(record.answer) if w in words(reference)]
    assert words(marks[1]) == [w for w in words(reference) if w in words(record.answer)]


def test_the_context_is_shown_whole_with_the_evidence_in_it(page, stored):
    question = next(
        record.question
        for record in stored.cells[stored.best]
        if record.hits and record.hits[0].grade and record.context
    )
    visit(page, stored, f"#q-{question}")
    page.locator(".detail summary", has_text="The prompt’s context").click()
    page.locator(".sent").first.wait_for()
    parts = page.locator(".sent .chunk").evaluate_all(
        "all => all.map((each) => { const chunk = each.cloneNode(true);"
        " chunk.querySelectorAll('.held-said').forEach((said) => said.remove());"
        " return chunk.textContent; })"
    )
    assert "\n\n".join(parts) == context_text(stored.record(question), stored.view.stored.texts)
    gold = stored.view.stored.questions[question].passages[0].text
    assert "".join(page.locator(".sent").first.locator("mark").all_text_contents()) in gold


def test_the_same_question_is_shown_in_every_configuration(page, stored):
    everything(page, stored)
    opened_question(page, "town-7")
    table = page.locator("table.elsewhere tbody tr")
    shown = table.evaluate_all(
        "all => all.map((row) => [...row.querySelectorAll('[data-value]')]"
        ".map((cell) => Number(cell.dataset.value)))"
    )
    expected = [
        [stored.value("town-7", metric, cell) for metric in (stored.view.by, "token_f1")]
        for cell in range(len(stored.cells))
    ]
    assert [each for row in shown for each in row] == pytest.approx(
        [value for row in expected for value in row], abs=1e-5
    )
    other = (stored.best + 1) % len(stored.cells)
    name = stored.view.name(stored.view.cells[other])
    table.nth(other).get_by_role("button").click()
    page.wait_for_function(
        "(name) => document.querySelector('.facts .named').textContent === name", arg=name
    )
    selects = page.locator("select.focus").evaluate_all("all => all.map((s) => s.value)")
    assert set(selects) == {str(other)}
    assert count(page) == f"57 of 57 questions, scores for {name}"
    assert page.evaluate("document.activeElement.className") == "detail"


def test_a_question_has_an_address_and_the_history_leads_back(page, stored):
    everything(page, stored)
    opened_question(page, "town-1")
    assert page.evaluate("location.hash") == "#q-town-1"
    page.go_back()
    page.locator(".detail").wait_for(state="detached")
    page.go_forward()
    page.locator(".detail .facts").wait_for()
    assert page.locator("tr.open .id").text_content() == "town-1"
    page.get_by_role("button", name="Close", exact=True).click()
    assert page.locator(".detail").count() == 0
    assert page.evaluate("location.hash") == "#questions"


def test_an_address_opens_a_question_that_is_not_listed(window, stored):
    window.goto("about:blank")
    page = visit(window, stored, "#q-50%20%25%20%26%20%C3%BC%2F%3F%23%2C")
    page.locator(".detail .facts").wait_for()
    assert page.locator("tr.open .id").text_content() == ODD["id"]
    assert page.locator("tr.open .asked").text_content() == ODD["question"]
    visit(page, stored, "#q-town-55")
    page.wait_for_function("() => document.querySelector('tr.open .id').textContent === 'town-55'")
    assert page.evaluate("location.hash") == "#q-town-55"


def test_links_from_elsewhere_set_the_filters(page, stored):
    other = (stored.best + 2) % len(stored.cells)
    visit(page, stored, f"#questions?lost=context&cell={other}")
    wanted = stored.where(lambda question: stored.record(question, other).lost_at == "context")
    awaited(page, wanted)
    assert page.locator(".filters select.focus").input_value() == str(other)
    visit(page, stored, "#questions?ids=town-2,50%20%25%20%26%20%C3%BC%2F%3F%23%2C,nobody")
    awaited(page, ["town-2", ODD["id"]])
    visit(page, stored, "#questions?lost=nonsense&cell=99")
    awaited(page, stored.questions)


@pytest.mark.parametrize("stage", ["context", "failed"])
def test_a_click_on_a_segment_of_the_chart_opens_its_questions(page, stored, stage):
    def is_in(question, cell):
        record = stored.record(question, cell)
        return record.error if stage == "failed" else record.lost_at == stage

    cell = next(at for at, _ in enumerate(stored.cells) if is_in("town-4", at) or stage != "failed")
    link = page.locator(f"#figure-losses .wide a[href*='lost={stage}&cell={cell}']")
    link.scroll_into_view_if_needed()
    box = link.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    page.wait_for_function("() => location.hash.startsWith('#questions?lost=')")
    wanted = stored.where(lambda question: is_in(question, cell))
    awaited(page, wanted)
    among = f", among the {all_of(stored)} linked" if stage == "failed" else ""
    said(page, f"{len(wanted)} of 57 questions{among}")


def test_the_questions_that_tell_most_are_linked_with_the_best_configuration(page, stored):
    ten = listed(page)
    page.locator(".filters select.focus").select_option(str((stored.best + 1) % len(stored.cells)))
    everything(page, stored)
    page.get_by_role("link", name="Read the ten questions that tell most").click()
    said(page, "10 of 57 questions")

    assert listed(page) == ten
    assert page.locator(".presets [aria-pressed=true]").all_text_contents() == ["Ten to read"]
    assert page.locator(".filters select.focus").input_value() == str(stored.best)


def test_that_link_leads_to_them_without_a_script_too(browser, stored):
    with opened(browser, java_script_enabled=False) as page:
        page.goto((stored.folder / "report.html").as_uri())
        page.get_by_role("link", name="Read the ten questions that tell most").click()

        note = page.locator("noscript p").first
        assert note.text_content().startswith("10 questions to read with ")
        assert 0 <= note.bounding_box()["y"] < 300


@pytest.mark.parametrize(
    ("button", "left"), [("Not only these", 28), ("Clear", 57), ("^All 57", 57)]
)
def test_linked_questions_are_said_to_be_such_until_that_is_cleared(page, stored, button, left):
    visit(page, stored, "#questions?ids=town-0,town-1,town-2")
    said(page, "3 of 57 questions, among the 3 linked")
    page.get_by_label("Category").select_option("price")
    said(page, "1 of 57 questions, among the 3 linked")

    page.get_by_role("button", name=re.compile(button)).click()
    said(page, f"{left} of 57 questions")
    assert page.locator(".unlink").is_hidden()
    assert page.evaluate("location.hash") == "#questions"


def test_it_works_with_the_keyboard_alone(page):
    page.get_by_label("Search question").focus()
    page.keyboard.type("dorn13")
    page.wait_for_function("() => document.querySelectorAll('tr.question').length === 1")
    assert page.evaluate("document.activeElement.type") == "search"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('asked')"):
            break
    page.keyboard.press("Enter")
    page.locator(".detail .facts").wait_for()
    asked = page.locator("button.asked")
    assert asked.get_attribute("aria-expanded") == "true"
    assert page.evaluate("document.activeElement.classList.contains('asked')")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Close"
    page.keyboard.press("Escape")
    assert page.locator(".detail").count() == 0
    assert asked.get_attribute("aria-expanded") == "false"
    assert page.evaluate("document.activeElement.classList.contains('asked')")


def test_a_damaged_part_is_said_in_its_place(page, stored):
    page.evaluate("document.getElementById('part-records-0').textContent = 'AAAA'")
    page.locator("button.asked").first.click()
    warning = page.locator(".detail .warning")
    warning.wait_for()
    assert warning.text_content().startswith("This cannot be shown. ")
    assert warning.text_content().endswith("records.jsonl beside the report holds the same.")


def test_the_theme_changes_and_is_not_kept(page, stored):
    theme = page.locator("#theme")
    seen = []
    for _ in range(3):
        theme.click()
        seen.append([theme.text_content(), page.evaluate("document.documentElement.dataset.theme")])
    assert seen == [["Theme: light", "light"], ["Theme: dark", "dark"], ["Theme: auto", None]]
    assert page.evaluate("localStorage.length") == 0


def test_a_phone_shows_all_in_its_width_and_every_target_is_24_pixels_high(browser, stored):
    with opened(browser, viewport={"width": 390, "height": 844}) as page:
        visit(page, stored, "#q-town-3")
        page.locator(".ranking .hit .handle").first.wait_for()
        low = page.evaluate(
            """() => [...document.querySelectorAll("a, button, select, summary, .check")]
              .filter((each) => !each.closest("svg") && !each.matches(".skip"))
              .filter((each) => { const { width, height } = each.getBoundingClientRect();
                return width && height < 24; })
              .map((each) => each.outerHTML.slice(0, 80))"""
        )
        page.evaluate(
            "document.querySelectorAll('.detail details').forEach((d) => (d.open = true))"
        )
        width = page.evaluate("document.documentElement.scrollWidth")

    assert (low, width) == ([], 390)


def test_a_large_run_opens_filters_and_shows_a_question(stored, browser, tmp_path):
    view = View(many(stored.view.stored, 12, 160))
    text = html.render(view, parts(view))
    file = tmp_path / "report.html"
    file.write_text(text, encoding="utf-8")
    assert len(text.encode()) < 2e6

    with opened(browser, file) as page:
        preset(page, "^All 160$")
        said(page, "160 of 160 questions")
        assert page.locator("tr.question").count() == 50
        page.locator("button.asked").first.click()
        page.locator(".hit").first.wait_for()
        assert page.locator("table.elsewhere tbody tr").count() == 12


def test_every_name_of_the_script_is_declared_once():
    """The files share one scope, in which a second function of a name replaces the first."""
    found = Counter(
        name
        for path in SCRIPTS.glob("*.js")
        for name in re.findall(
            r"^(?:async )?(?:function|const|let|class) (\w+)",
            path.read_text(encoding="utf-8"),
            re.M,
        )
    )
    assert {name for name, times in found.items() if times > 1} == set()
