"""The documentation, held to the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import catalogue
from harness.config.settings import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_component_table_is_the_one_that_list_prints():
    found = re.search(r"<!-- components: (.+?) -->\n(.*?)\n<!-- /components -->", README, re.DOTALL)

    assert found
    assert found[1] == "python -m harness list --markdown"
    assert found[2] == catalogue.table(), "run `make docs`"


def test_the_library_example_runs_as_it_stands():
    found = re.search(r"<!-- example -->\n```python\n(.*?)```", README, re.DOTALL)
    assert found
    done = subprocess.run(
        [sys.executable, "-c", found[1]], capture_output=True, text=True, check=True, timeout=60
    )

    assert re.search(r"^hit_rate@1 +1\.000", done.stdout, re.MULTILINE)
    assert re.search(r"^ndcg@5 +1\.000", done.stdout, re.MULTILINE)
    # "day pass costs 6 dollars" against "6 dollars": 2 shared of 5 and 2 words
    assert re.search(r"^token_f1 +0\.571", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("key", list(Settings.model_fields))
def test_every_key_of_the_configuration_is_documented(key):
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")

    assert f"`{key}`" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_page_on_architecture_has_a_sentence_on_each_package_and_is_short():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page.split("## Packages")[1].split("## Five shapes")[0]))
    there = {path.stem for path in (ROOT / "harness").iterdir() if not path.name.startswith("__")}

    assert there - named == set()
    assert len(page.split()) < 1_200
