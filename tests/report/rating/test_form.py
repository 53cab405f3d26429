"""The rating form in a real browser: from disk, by keyboard, blinded, and nothing gets lost."""

import json
import re
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from harness.people import rating_forms, saved_forms
from harness.report.rating_page import render
from harness.store import reader
from tests.support import small
from tests.support.browser import opened
from tests.support.pages import Page
from tests.support.rating_made import answered, chosen

PWN = "window.__pwned=1"
HOSTILE = (
    f"</script><script>{PWN}</script><img src=x onerror={PWN}> <!-- {{{{ 7 * 7 }}}} "
    "\u202eright to left\u202c \u2067\u05d0\u2069 🚲 a null\x00byte \u2028 \x1b[31m "
    "\ufffe half \ud83d"
)
AXES = ("correctness", "directness", "completeness", "helpfulness")
OVERALL = ("poor", "fair", "good", "excellent")
REFUSED = """Object.defineProperty(window, "localStorage",
  { get() { throw new DOMException("no", "SecurityError"); } })"""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A run that was really made, before the browser is there; and its form."""
    stored = small.stored(tmp_path_factory.mktemp("real"))
    return stored, *form(stored, n=8)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Three items of two texts each, for one rater: the key and the form."""
    return form(answered(["a"], 3), tmp_path_factory.mktemp("three"), n=3)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Ten items for two raters, of which two are rated by both."""
    return form(answered(["a"], 10), tmp_path_factory.mktemp("two"), n=10, raters=2)


def form(stored, folder=None, **wishes):
    made = chosen(stored, **wishes)
    path = rating_forms.form_path(stored, made) if folder is None else folder / "form.html"
    rating_forms.write(replace(stored, folder=path.parent), made, render(stored, made.key), path)
    return made.key, path


def begin(page):
    """Begin with the keyboard alone."""
    while page.evaluate("document.activeElement.textContent") != "Begin":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")


def press(page, keys):
    for key in keys:
        page.keyboard.press(key)


def saved(page):
    """Press `s`; returns the name of the file that comes, and what is in it."""
    with page.expect_download() as waiting:
        page.keyboard.press("s")
    with open(waiting.value.path(), encoding="utf-8") as file:
        return waiting.value.suggested_filename, json.load(file)


def line(item, digits, comment=""):
    """Return what the file must hold of an item of which these digits were typed."""
    chunks, rest = digits[: len(item.chunks)], digits[len(item.chunks) :]
    grades = dict(zip(AXES, rest, strict=False))
    overall = OVERALL[rest[-1]]
    return {"item": item.item, "chunks": chunks, **grades, "overall": overall, "comment": comment}


def test_all_is_rated_with_the_keyboard_alone_and_the_file_holds_what_was_typed(
    real, browser, tmp_path
):
    _, key, path = real
    with opened(browser, path) as page:
        begin(page)
        expected = []
        for at, item in enumerate(key.items):
            expect(page.locator("#item-of")).to_have_text(f"Item {at + 1} of 8")
            digits = [(at + 3 * row) % 4 for row in range(len(item.chunks) + 5)]
            press(page, map(str, digits))
            comment = ""
            if at == 1:
                comment = "n 0 ? right, but “long”"
                page.keyboard.press("c")
                page.keyboard.type(comment)
                press(page, ["Escape"])
            expected.append(line(item, digits, comment))
            expect(page.locator("#left")).to_have_text("This item is complete.")
            expect(page.locator("#progress")).to_have_text(f"{at + 1} of 8")
            page.keyboard.press("n" if at % 2 else "Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("All 8 items rated")
        name, file = saved(page)
        expect(page.locator("#saved")).to_have_text(f"Saved as {name}.")

    assert name == f"ratings-{key.id}-rater1.json"
    (tmp_path / name).write_text(json.dumps(file), encoding="utf-8")
    ((ratings,), problems) = saved_forms.read([tmp_path / name], {key.id: key})
    assert (len(ratings), problems) == (8, [])  # what `import ratings` reads
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", file.pop("saved"))
    about = {"harness_ratings": 1, "form": key.id, "rater": 1, "name": ""}
    assert file == {**about, "items": expected}


def test_what_a_person_sees_is_what_the_key_says_is_behind_the_item(real, browser):
    stored, key, path = real
    records = {(record.cell, record.question): record for record in stored.records}
    with opened(browser, path) as page:
        begin(page)
        for item in key.items:
            texts = [stored.texts[chunk.doc, chunk.start, chunk.end] for chunk in item.chunks]
            answers = {records[cell, item.question].answer for cell in item.cells}
            assert (
                page.locator("#item-title").text_content() == stored.questions[item.question].text
            )
            assert page.locator(".texts .text").all_text_contents() == texts
            shown = page.locator(".answer > *").text_content()
            assert {shown} == {answer or "It gives no answer." for answer in answers}
            page.keyboard.press("n")


def test_the_form_says_nothing_of_what_is_behind_its_items(real):
    stored, _, path = real
    text = path.read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1]
    cells = [cell.name for cell in stored.run.cells]
    golds = ["Nothing, they are free.", '6 dollars"', "passages", "keywords"]
    parts = {part for name in cells for part in name.split(" × ")}

    for said in (*cells, stored.run.id, *stored.run.provenance.metrics, *golds, "rank", "score"):
        assert said not in data, said
    for said in (*cells, stored.run.id, *stored.run.provenance.metrics):
        assert said not in text, said
    assert parts >= {"dense", "bm25", "markdown", "extractive"}
    for part in parts:
        assert not re.search(rf"\b{part}\b", data), part
    assert re.findall(r"https?:", text) == ["http:"]  # the name of SVG, which is not fetched


def test_keys_move_clear_and_jump_and_what_is_open_is_null_in_the_file(three, browser):
    key, path = three
    with opened(browser, path) as page:
        begin(page)
        focused = "document.activeElement.closest('.row')?.querySelector('legend').textContent"
        press(page, "jjk")
        assert page.evaluate(focused) == "Text 2"
        press(page, ["3", "ArrowDown", "0", "ArrowUp", "x"])
        assert page.evaluate(focused) == "Directness"
        press(page, ["1", "ArrowUp"])
        expect(page.locator("#left")).to_have_text(
            "Left in this item: text 1, correctness, completeness, helpfulness, overall"
        )
        expect(page.locator("#said")).to_have_text("Directness: long detours. 5 left in this item.")
        press(page, ["?"])
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        press(page, ["Escape", "n", "n"])
        expect(page.locator("#item-of")).to_have_text("Item 3 of 3")
        press(page, [*"2222222", "u"])
        expect(page.locator("#item-of")).to_have_text("Item 1 of 3")
        press(page, ["n", "p", "p"])
        expect(page.get_by_role("heading", level=1)).to_have_text("Rate answers")
        _, file = saved(page)

    first, third = key.items[0].item, key.items[2]
    open_ = dict.fromkeys(AXES)
    assert file["items"] == [
        {"item": first, "chunks": [None, 3], **open_, "directness": 1, "overall": None,
         "comment": ""},
        line(third, [2] * 7),
    ]  # fmt: skip


def test_a_reload_goes_on_where_one_was_and_each_rater_sees_only_theirs(shared, browser):
    key, path = shared
    mine = {rater: [item for item in key.items if rater in item.raters] for rater in (1, 2)}
    assert len(mine[1]) + len(mine[2]) == 12
    with opened(browser, path) as page:
        page.get_by_role("button", name="Begin").click()
        expect(page.locator("#item")).to_be_hidden()  # one must say who one is
        page.get_by_label("I am rater 2").check()
        page.get_by_label("A name for yourself").fill("Kestrel")
        page.get_by_role("button", name="Begin").click()
        press(page, ["3", "1", "n", "2"])
        page.reload()
        expect(page.locator("#item-of")).to_have_text(f"Item 2 of {len(mine[2])}")
        expect(page.locator(".row input:checked")).to_have_count(1)
        _, second = saved(page)
        page.get_by_role("button", name="Start page").click()
        page.get_by_label("I am rater 1").check()
        page.get_by_role("button", name="Begin").click()
        expect(page.locator("#item-of")).to_have_text(f"Item 1 of {len(mine[1])}")
        asked = []
        for _ in mine[1]:
            asked.append(page.locator("#item-title").text_content())
            page.keyboard.press("n")

    assert asked == [item.question for item in mine[1]]
    assert (second["rater"], second["name"]) == (2, "Kestrel")
    given = [(each["item"], each["chunks"]) for each in second["items"]]
    assert given == [(mine[2][0].item, [3, 1]), (mine[2][1].item, [2, None])]


def test_a_saved_file_goes_on_elsewhere_and_a_wrong_one_is_refused(three, browser, tmp_path):
    key, path = three
    with opened(browser, path) as page:
        begin(page)
        press(page, "0123012")
        _, file = saved(page)
    text = json.dumps(file)
    wrong = {
        "it is not JSON": "{",
        "it holds no ratings of version 1": "[]",
        "it belongs to another form": json.dumps({**file, "form": "other"}),
        "it names no rater of this form": json.dumps({**file, "rater": 2}),
        "it has a grade that there is not": text.replace('ness": 3', 'ness": 4'),
        "it rates other texts": text.replace("[0, 1]", "[0]"),
        "it rates what is not in this form": json.dumps({**file, "items": [None]}),
    }
    with opened(browser, path) as page:
        for why, text in wrong.items():
            (tmp_path / "file.json").write_text(text, encoding="utf-8")
            page.locator("#load").set_input_files(tmp_path / "file.json")
            expect(page.locator("#loaded")).to_have_text(f"This file cannot be used: {why}.")
        (tmp_path / "file.json").write_text(json.dumps(file), encoding="utf-8")
        page.locator("#load").set_input_files(tmp_path / "file.json")
        expect(page.locator("#loaded")).to_have_text("1 rated item of rater 1 loaded.")
        begin(page)
        expect(page.locator("#item-of")).to_have_text("Item 2 of 3")
        _, again = saved(page)

    assert again["items"] == file["items"] == [line(key.items[0], [0, 1, 2, 3, 0, 1, 2])]


def test_where_storage_is_refused_it_says_so_and_closing_asks(three, browser):
    _, path = three
    asked = []
    with opened(browser) as page:
        page.add_init_script(REFUSED)
        page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
        page.goto(path.as_uri())
        expect(page.get_by_role("alert")).to_contain_text("keeps nothing for this page")
        begin(page)
        page.keyboard.press("3")
        _, file = saved(page)
        page.reload()
        assert asked == []
        begin(page)
        page.keyboard.press("2")
        page.reload()

    assert asked == ["beforeunload"]
    assert file["items"][0]["chunks"] == [3, None]


def test_closing_asks_when_all_is_rated_and_no_file_was_saved(three, browser):
    _, path = three
    asked = []
    with opened(browser, path) as page:
        page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
        begin(page)
        press(page, [*"1111111", "n", *"1111111", "n", *"111111"])
        page.reload()
        assert asked == []  # the browser keeps it, and it is not complete
        press(page, "1")
        page.reload()
        assert asked == ["beforeunload"]
        saved(page)
        page.reload()

    assert asked == ["beforeunload"]


def test_what_is_rated_in_one_window_is_there_in_another(three, browser):
    _, path = three
    with opened(browser, path) as page:
        begin(page)
        expect(page.locator(".row").first).to_be_visible()
        other = page.context.new_page()
        other.goto(path.as_uri())
        while not other.locator(".row").count():  # what is stored reaches other windows by and by
            other.reload()
        page.bring_to_front()
        press(page, "32")
        expect(other.locator(".row input:checked")).to_have_count(2)
        press(other, "1")
        expect(page.locator(".row input:checked")).to_have_count(3)


def test_damaged_storage_is_as_good_as_none(three, browser):
    key, path = three
    with opened(browser, path) as page:
        for text in ("{", "null", '{"rater": 9, "at": 1}', '{"rater": 1, "at": 1e99}'):
            page.evaluate(
                "([key, text]) => { localStorage.setItem(key, text);"
                " localStorage.setItem(`${key} 1`, text); }",
                [f"harness-ratings {key.id}", text],
            )
            page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("not complete|Rate"))


def test_hostile_texts_stay_text_and_long_ones_are_folded(browser, tmp_path):
    stored = answered(["a"], 2, answer=HOSTILE.replace("{", "{{").replace("}", "}}"))
    long = HOSTILE + " long" * 200_000
    texts = {span: f"{HOSTILE} {span[1]}" for span in stored.texts}
    texts = {span: long if span[1] else text for span, text in texts.items()}
    questions = {
        id_: replace(line, text=f"{HOSTILE} {id_}") for id_, line in stored.questions.items()
    }
    untold = [replace(record, context=None) for record in stored.records]
    evil = replace(stored, texts=texts, questions=questions, records=tuple(untold))
    _, path = form(evil, tmp_path, n=2)
    with opened(browser, path) as page:
        begin(page)
        shown = page.locator(".texts .text").all_text_contents()
        safe = re.sub("[\u202a-\u202e\u2066-\u2069]", "\ufffd", HOSTILE[:-1])
        assert safe in page.locator(".answer").text_content()
        assert "\ufffd\u05d0\ufffd" in safe
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.content())
        assert min(map(len, shown)) < 200
        assert max(map(len, shown)) == 1200  # the bicycle is two of its units
        if len(shown[0]) < 1000:
            page.keyboard.press("j")
        page.keyboard.press("e")
        assert max(map(len, page.locator(".texts .text").all_text_contents())) == len(long)
        page.keyboard.press("e")
        assert page.evaluate("window.__pwned") is None
        press(page, "nn")
        assert page.evaluate("window.__pwned") is None

    page = Page(path.read_text(encoding="utf-8"))
    assert "img" not in page.tags
    assert page.scripts == ["application/json", "ours"]
    assert {name for name in page.attributes if name.startswith("on") or name == "style"} == set()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_serious_violation_and_nothing_runs_out(real, browser, width, theme):
    window = {"viewport": {"width": width, "height": 800}, "color_scheme": theme}
    with opened(browser, real[2], **window) as page:
        found = Axe().run(page).response["violations"]
        begin(page)
        press(page, "31")
        found += Axe().run(page).response["violations"]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        press(page, "j" * 9)
        assert page.get_by_role("group").last.is_visible()
        press(page, "n" * 8)
        found += Axe().run(page).response["violations"]

    grave = ("serious", "critical")
    serious = [each for each in found if each["impact"] in grave or each["id"] == "heading-order"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_row_with_the_focus_is_in_sight(real, browser, width):
    seen = """() => {
      const box = document.activeElement.closest("label").getBoundingClientRect();
      const top = document.querySelector("body > header").getBoundingClientRect().bottom;
      const keys = document.getElementById("keys").getBoundingClientRect();
      return box.top >= top && box.bottom <= keys.top;
    }"""
    with opened(browser, real[2], viewport={"width": width, "height": 500}) as page:
        begin(page)
        rows = page.locator(".row").count()
        for _ in range(rows):
            assert page.evaluate(seen)
            page.keyboard.press("j")


def test_the_command_writes_form_and_key_and_says_what_is_in_them(real, cli, tmp_path):
    stored, key, path = real
    folder = stored.folder
    said = cli("rate", folder, "--n", "8")
    assert said.status == 0, said
    assert said.out.splitlines()[0] == f"{path}: 8 items, 3 questions in 4 cells"
    assert said.err.startswith("note: the cell with the fewest has")
    assert json.loads((folder / "forms" / f"{key.id}.json").read_text())["run"] == stored.run.id

    out = tmp_path / "new" / "form.html"
    again = ("rate", folder, "--n", "8", "--raters", "2", "--shared", "0.5", "-o", out)
    assert cli(*again).status == 0
    assert out.is_file()
    there = cli(*again)
    assert there.status == 2
    assert (
        there.err == f"{str(out)!r} is there already\n  write elsewhere, or replace it: --force\n"
    )
    assert cli(*again, "--force").status == 0
    assert cli("rate", tmp_path).status == 2
    assert reader.load(folder).run == stored.run
