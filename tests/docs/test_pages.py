"""The documentation, held to the code."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from docs import tables
from harness.config.settings import Settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


@pytest.mark.parametrize("name", tables.PAGES)
def test_generated_pages_are_as_make_docs_writes_them(name):
    assert (DOCS / name).read_text("utf-8") == tables.PAGES[name](), "run `make docs`"


def test_the_readme_is_short_and_its_example_runs_as_it_stands():
    assert len(README.splitlines()) <= 120
    example = re.search(r"<!-- example -->\n```python\n(.*?)```", README, re.DOTALL)
    assert example
    done = subprocess.run(
        [sys.executable, "-c", example[1]], capture_output=True, text=True, check=True, timeout=60
    )

    assert re.search(r"^hit_rate@1 +1\.000", done.stdout, re.MULTILINE)
    assert re.search(r"^ndcg@5 +1\.000", done.stdout, re.MULTILINE)
    # "day pass costs 6 dollars" against "6 dollars": 2 shared of 5 and 2 words
    assert re.search(r"^token_f1 +0\.571", done.stdout, re.MULTILINE)


def test_every_configuration_that_the_readme_names_is_there():
    for name in re.findall(r"harness (?:run|validate) (\S+\.yaml)", README):
        assert (ROOT / name).exists() or name.startswith("my-project/"), name


def test_the_steps_of_the_tutorial_run(tmp_path):
    steps = re.findall(
        r"<!-- steps -->\n```sh\n(.*?)```", (DOCS / "start.md").read_text(), re.DOTALL
    )
    assert len(steps) == 3
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", "".join(steps)], cwd=tmp_path, env={**os.environ, "PATH": path},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "Ranked by passage_recall@1" in done.stdout
    assert "questions that both asked" in done.stdout
    assert "token_f1" in done.stdout


@pytest.mark.parametrize("key", list(Settings.model_fields))
def test_every_key_of_the_configuration_is_documented(key):
    assert f"`{key}`" in (DOCS / "configuration.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the site, built as `make docs-site` builds it: a warning ends it."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_asks_nothing_from_elsewhere(site):
    foreign = re.compile(r"<(?:script|link|img)[^>]+(?:src|href)=\"?(https?:[^\" >]+)")
    for page in site.glob("*.html"):
        assert foreign.findall(page.read_text("utf-8")) == [], page.name


def test_the_calculators_of_the_metrics_page_compute(site, browser):
    """Results of grades 3, 2, 3, 0, 1, 2, the first two exchanged: 6.4921 / 7.1410 by hand."""
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.goto((site / "metrics.html").as_uri())
        page.locator("[data-calculator=ndcg] .down").first.click()

        shown = page.locator("[data-calculator=ndcg] .measure").inner_text()
    assert "6.4921 / 7.1410 = 0.9091" in shown


def test_the_page_on_architecture_has_a_sentence_on_each_package_and_is_short():
    page = (DOCS / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`(\w+)`", page.split("## Packages")[1].split("## Five shapes")[0]))
    there = {path.stem for path in (ROOT / "harness").iterdir() if not path.name.startswith("__")}

    assert there - named == set()
    assert len(page.split()) < 1_200
