"""The pages of a history: what they say, that nothing runs in them, and what nobody loses."""

import json
import re

import pytest
from typer.testing import CliRunner

from harness import terminal_history
from harness.cli.history import commands
from harness.errors import HarnessError
from harness.history.series import history
from harness.report import html, trend
from tests import browser
from tests.history_made import night, nights
from tests.pages import Page

HOSTILE = '"><script>alert(1)</script>|\x00\u202e{{ 7 * 7 }}'
STEP = [0.5, 0.51, 0.49, 0.5, 0.5, 0.52, 0.5, 0.49, 0.4, 0.41, 0.39, 0.4, 0.42, 0.4, 0.41, 0.39]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reports")
    nights(path, STEP)
    night(path, 16, {"dense": {"mrr@10": 0.0}}, "failed")
    return path


def test_the_page_says_first_what_shifted_and_draws_each_metric_with_its_table(folder):
    page, text = trend.write(history(folder))
    shown = Page(page.read_text(encoding="utf-8"))
    said = "".join(shown.text)

    assert (page, text) == (folder / "history.html", folder / "history.md")
    assert "mrr@10 fell by 0.099 on 9 Jan 2026." in said
    assert said.count("Table behind this chart") == 1
    assert "svg" in shown.tags
    assert "20260101-023000-abcdef/report.html" in shown.links
    assert "17 runs from 1 Jan 2026 to 17 Jan 2026, 1 failed, 1 shift." in said


def test_the_markdown_says_the_same_without_pictures(folder):
    _, path = trend.write(history(folder))
    text = path.read_text(encoding="utf-8")

    assert text.startswith("# mrr@10 fell by 0.099 on 9 Jan 2026.")
    assert "| mrr@10 | dense | 0.501 → 0.403 | −0.099 |" in text
    assert "![" not in text


def test_the_page_lets_nothing_run_and_only_its_own_style_in(folder):
    text = trend.write(history(folder))[0].read_text(encoding="utf-8")
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
    page, text = trend.write(history(tmp_path))
    shown = Page(page.read_text(encoding="utf-8"))

    assert not shown.tags & {"script", "img"}
    assert not {each for each in shown.attributes if each.startswith("on") or each == "style"}
    assert "{{ 7 * 7 }}" in "".join(shown.text)
    assert "<script>" not in text.read_text(encoding="utf-8")
    assert "\x00" not in terminal_history.shown(history(tmp_path), [])


def test_a_folder_whose_name_is_not_utf8_is_left_out_by_name(tmp_path):
    nights(tmp_path, [0.5])
    try:
        (tmp_path / "a\udcff").mkdir()
    except OSError:
        pytest.skip("this disk takes names in UTF-8 alone")

    for path in trend.write(history(tmp_path)):
        assert "a\ufffd: holds no run" in path.read_text(encoding="utf-8")


def test_a_page_of_somebody_elses_stays_as_it_is(tmp_path):
    nights(tmp_path, [0.5])
    path = tmp_path / "history.html"
    path.write_text("<h1>Ours</h1>")

    with pytest.raises(HarnessError, match="was not written by the harness"):
        trend.write(history(tmp_path))
    assert path.read_text() == "<h1>Ours</h1>"


def test_runs_without_a_value_or_an_interval_are_drawn_too(tmp_path):
    night(tmp_path, 0, {"dense": {"mrr@10": 0.5}}, "failed")
    assert "No run has finished." in trend.write(history(tmp_path))[0].read_text()
    path = night(tmp_path, 1, {"dense": {"mrr@10": 0.5}})
    text = json.loads((path / "run.json").read_text())
    text["cells"][0]["scores"]["mrr@10"] |= {"low": None, "high": None}
    (path / "run.json").write_text(json.dumps(text))

    assert "<svg" in trend.write(history(tmp_path))[0].read_text()


def test_the_terminal_shows_the_last_runs_in_a_hundred_columns(folder):
    done = CliRunner().invoke(commands, [str(folder)])
    lines = done.output.splitlines()

    assert done.exit_code == 0
    assert max(map(len, lines[:-2])) <= 100
    assert lines[0] == "mrr@10 fell by 0.099 on 9 Jan 2026."
    assert "17 Jan 2026, 02:30          failed" in lines
    assert "16 Jan 2026, 02:30              20    0.390 −0.020" in lines
    assert "  7 runs before these" in lines
    assert lines[-2:] == [f"page: {folder / name}" for name in ("history.html", "history.md")]


def test_json_has_every_value_and_writes_nothing(tmp_path):
    nights(tmp_path, STEP)
    done = CliRunner().invoke(commands, [str(tmp_path), "--json", "-m", "mrr@10", "-c", "dense"])
    found = json.loads(done.output)
    (segment,) = found["series"][0]["segments"]

    assert [each["mean"] for each in segment["values"]] == STEP
    assert segment["shifts"][0]["run"] == "20260109-023000-abcdef"
    assert segment["corrected"] == segment["p"]
    assert found["family"] == 1
    assert not (tmp_path / "history.html").exists()


def test_the_page_says_that_reading_every_night_was_corrected_for_and_how_to(folder):
    for every, said in (([], "--every-night corrects for that"), (["--every-night"], "any night.")):
        done = CliRunner().invoke(commands, [str(folder), *every])
        assert done.exit_code == 0
        assert said in (folder / "history.md").read_text(encoding="utf-8")


def test_the_page_says_that_no_more_shifts_were_looked_for(tmp_path):
    nights(tmp_path, [0.1 * (at // 10) + at % 3 / 500 for at in range(90)])
    note = "At most 5 shifts of a stretch and 150 of a page are looked for"

    assert note in trend.write(history(tmp_path))[1].read_text(encoding="utf-8")
    for path in sorted(tmp_path.glob("2026*"))[30:]:
        path.rename(tmp_path / f".{path.name}")
    assert note not in trend.write(history(tmp_path))[1].read_text(encoding="utf-8")


def test_many_runs_are_read_and_tested_quickly(tmp_path):
    nights(tmp_path, [0.5 + (at * 37 % 11) / 500 for at in range(300)])

    found = history(tmp_path)

    assert (len(found.runs), found.family) == (300, 1)
    assert "100 of 300" in trend.write(found)[1].read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_the_page_fits_its_window_and_complains_of_nothing(folder, width, scheme):
    page = trend.write(history(folder))[0]
    with (
        browser.launched(browser.executable(), browser.REQUIRED) as chromium,
        browser.opened(
            chromium, page, viewport={"width": width, "height": 800}, color_scheme=scheme
        ) as opened,
    ):
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.locator("h1").inner_text() == "mrr@10 fell by 0.099 on 9 Jan 2026."
        assert opened.locator("figure svg:visible").count() == 1
    assert browser.complaints == []
