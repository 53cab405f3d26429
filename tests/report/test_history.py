"""The pages of a history: what they say, that nothing runs in them, and what nobody loses."""

import json
import re

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.comparison.history.series import history
from harness.errors import HarnessError
from harness.report import history as pages
from harness.report import html, terminal
from tests.support import browser
from tests.support.history_made import night, nights
from tests.support.pages import Page

HOSTILE = '"><script>alert(1)</script>|\x00\u202e{{ 7 * 7 }}'
HIGH = [0.45, 0.55, 0.46, 0.53, 0.44, 0.56, 0.5, 0.51] * 2
STEP = [*HIGH, *(round(mean - 0.1, 2) for mean in HIGH)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reports")
    nights(path, STEP)
    night(path, 32, {"dense": {"mrr@10": 0.0}}, "failed")
    return path


def test_the_page_says_first_what_shifted_and_draws_each_metric_with_its_table(folder):
    page, text = pages.write(history(folder))
    shown = Page(page.read_text(encoding="utf-8"))
    said = "".join(shown.text)

    assert (page, text) == (folder / "history.html", folder / "history.md")
    assert "mrr@10 fell by 0.100 on 17 Jan 2026." in said
    assert said.count("Table behind this chart") == 1
    assert "svg" in shown.tags
    assert "20260101-023000-abcdef/report.html" in shown.links
    assert "33 runs from 1 Jan 2026 to 2 Feb 2026, 1 failed, 1 shift." in said


def test_the_markdown_says_the_same_without_pictures(folder):
    _, path = pages.write(history(folder))
    text = path.read_text(encoding="utf-8")

    assert text.startswith("# mrr@10 fell by 0.100 on 17 Jan 2026.")
    assert "| mrr@10 | dense | 17 Jan 2026 | 0.500 → 0.400 | −0.100 |" in text
    assert "![" not in text


def test_the_page_lets_nothing_run_and_only_its_own_style_in(folder):
    text = pages.write(history(folder))[0].read_text(encoding="utf-8")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]

    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{html.digest(style)}'; ")
    assert "script" not in policy
    found = Page(text)
    assert "script" not in found.tags
    assert not {each for each in found.attributes if each.startswith("on") or each == "style"}
    assert not re.search(r"https?://(?!www\.w3\.org)|@import", text)


def test_hostile_names_stay_text(tmp_path):
    for at in range(2):
        night(
            tmp_path, at, {HOSTILE: {"mrr@10": 0.5 + at / 10}}, config={HOSTILE: f"{HOSTILE}{at}"}
        )
    page, text = pages.write(history(tmp_path))
    shown = Page(page.read_text(encoding="utf-8"))

    assert not shown.tags & {"script", "img"}
    assert not {each for each in shown.attributes if each.startswith("on") or each == "style"}
    assert "{{ 7 * 7 }}" in "".join(shown.text)
    assert "<script>" not in text.read_text(encoding="utf-8")
    assert "\x00" not in terminal.render(pages.blocks(history(tmp_path)))


def test_a_folder_whose_name_is_not_utf8_is_left_out_by_name(tmp_path):
    nights(tmp_path, [0.5])
    try:
        (tmp_path / "a\udcff").mkdir()
    except OSError:
        pytest.skip("this disk takes names in UTF-8 alone")

    for path in pages.write(history(tmp_path)):
        assert "a\ufffd: holds no run" in path.read_text(encoding="utf-8")


def test_a_page_of_somebody_elses_stays_as_it_is(tmp_path):
    nights(tmp_path, [0.5])
    path = tmp_path / "history.html"
    path.write_text("<h1>Ours</h1>")

    with pytest.raises(HarnessError, match="was not written by the harness"):
        pages.write(history(tmp_path))
    assert path.read_text() == "<h1>Ours</h1>"


def test_runs_without_a_value_or_an_interval_are_drawn_too(tmp_path):
    night(tmp_path, 0, {"dense": {"mrr@10": 0.5}}, "failed")
    assert "No run has finished." in pages.write(history(tmp_path))[0].read_text()
    path = night(tmp_path, 1, {"dense": {"mrr@10": 0.5}})
    text = json.loads((path / "run.json").read_text())
    text["cells"][0]["scores"]["mrr@10"] |= {"low": None, "high": None}
    (path / "run.json").write_text(json.dumps(text))

    assert "<svg" in pages.write(history(tmp_path))[0].read_text()


def test_the_terminal_shows_the_last_runs_in_a_hundred_columns(folder):
    done = CliRunner().invoke(app, ["history", str(folder)])
    lines = done.output.splitlines()

    assert done.exit_code == 0
    assert max(map(len, lines[:-2])) <= 100
    assert lines[0] == "mrr@10 fell by 0.100 on 17 Jan 2026."
    assert "2 Feb 2026, 02:30           –       –             –  failed" in lines
    assert "1 Feb 2026, 02:30          20       0  0.410 +0.010" in lines
    assert "mrr@10 and its difference from the run before; 10 of 33, all by --json" in lines
    assert lines[-2:] == [f"page: {folder / name}" for name in ("history.html", "history.md")]


def test_json_has_every_value_and_writes_nothing(tmp_path):
    nights(tmp_path, STEP)
    done = CliRunner().invoke(
        app, ["history", str(tmp_path), "--json", "-m", "mrr@10", "-c", "dense"]
    )
    found = json.loads(done.output)
    (segment,) = found["series"][0]["segments"]

    assert [each["mean"] for each in segment["values"]] == STEP
    assert segment["shifts"][0]["run"] == "20260117-023000-abcdef"
    assert segment["corrected"] == segment["p"]
    assert found["family"] == 1
    assert not (tmp_path / "history.html").exists()


def test_the_page_says_that_reading_every_night_was_corrected_for_and_how_to(folder):
    for every, said in (([], "--every-night corrects for that"), (["--every-night"], "any night.")):
        done = CliRunner().invoke(app, ["history", str(folder), *every])
        assert done.exit_code == 0
        assert said in (folder / "history.md").read_text(encoding="utf-8")


def test_the_page_says_what_so_few_nights_cannot_show(tmp_path):
    nights(tmp_path, [0.5] * 6 + [0.4] * 6)

    found = history(tmp_path)
    text = pages.write(found)[1].read_text(encoding="utf-8")

    assert found.called == []
    assert "12 nights are few: a step of 2 standard deviations" in text
    # Of the twelve cuts of a circle of one block two are as far, and 5 in 100 may be.
    assert re.search(r"has p = 0\.1[67], and only p up to 0\.05 is called", text)


def test_the_page_says_that_too_many_orders_would_be_needed(tmp_path):
    metrics = [f"recall@{k}" for k in range(1, 6)]
    for at in range(170):
        scores = dict.fromkeys(metrics, 0.5 + at * 37 % 11 / 500)
        night(tmp_path, at, {f"c{number}": scores for number in range(6)})

    text, nightly = (
        pages.write(history(tmp_path, every_night=every_night))[1].read_text("utf-8")
        for every_night in (False, True)
    )
    note = "So many tests would need more than 100,000 orders"

    # 20 orders for each of 30 tests, and as often as there are nights.
    assert note not in text
    assert note in nightly


def test_many_runs_are_read_and_tested_quickly(tmp_path):
    nights(tmp_path, [0.5 + (at * 37 % 11) / 500 for at in range(300)])

    found = history(tmp_path)

    assert (len(found.runs), found.family) == (300, 1)
    assert "100 of 300" in pages.write(found)[1].read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_the_page_fits_its_window_and_complains_of_nothing(folder, width, scheme):
    page = pages.write(history(folder))[0]
    with (
        browser.launched(browser.executable(), browser.REQUIRED) as chromium,
        browser.opened(
            chromium, page, viewport={"width": width, "height": 800}, color_scheme=scheme
        ) as opened,
    ):
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.locator("h1").inner_text() == "mrr@10 fell by 0.100 on 17 Jan 2026."
        assert opened.locator("figure svg:visible").count() == 1
    assert browser.complaints == []
