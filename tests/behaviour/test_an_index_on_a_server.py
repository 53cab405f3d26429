"""An index on a Chroma server: it finds what an index of one's own finds, and keeps its token."""

import json
import random
import re

import pytest

from tests.behaviour.golden import run_folder, run_numbers
from tests.support.chroma_between import between
from tests.support.chroma_server import chroma_running
from tests.support.loopback import Handler, listening

RUN = ("run", "config.yaml")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with chroma_running(tmp_path_factory.mktemp("chroma") / "data") as running:
        yield running


@pytest.fixture
def halls(project):
    """Return a project of 40 short documents, a question about each of four."""
    for number in range(40):
        project.document(f"h{number}.md", f"Hall {number} was built by hall master {number * 7}.\n")
    project.testset(
        *(
            {"question": f"Who built hall {number}?", "documents": {f"h{number}.md": 1}}
            for number in (3, 11, 25, 38)
        )
    )
    project.config(labels="documents", metrics=["mrr@4"], generators=["none"])
    return project


def numbers(project, cli, index):
    project.config(index=index)
    said = cli(*RUN)
    assert said.status == 0, said.err
    return run_numbers(run_folder(project.folder))


def test_a_server_s_index_finds_the_same_and_a_later_run_finds_it_filled(halls, server, cli):
    own = numbers(halls, cli, {"ef_search": 200})
    with between(server.url) as passing:
        index = {"ef_search": 200, "server": {"url": passing.url}}
        first = numbers(halls, cli, index)
        added = [what for what, _ in passing.asked if what in ("add", "upsert")]
        halls.config(cache="another")
        passing.asked.clear()
        second = numbers(halls, cli, index)
        later = [what for what, _ in passing.asked if what in ("add", "upsert")]

    assert own == first == second
    assert added
    assert later == []


def test_what_is_too_large_for_a_proxy_is_halved_until_it_passes(halls, server, cli):
    own = numbers(halls, cli, {"ef_search": 201})
    with between(server.url) as passing:
        passing.limit = 6_000  # forty vectors of 64 numbers are some 14,000 bytes
        halved = numbers(halls, cli, {"ef_search": 201, "server": {"url": passing.url}})
        sizes = [size for what, size in passing.asked if what in ("add", "upsert")]

    assert own == halved
    assert passing.too_large > 0
    assert min(sizes) <= 6_000 < max(sizes)


def test_a_token_is_sent_from_the_environment_and_is_in_no_message(project, cli, monkeypatch):
    tokens = []

    class Refusing(Handler):
        def do_GET(self):
            tokens.append(self.headers["Authorization"])
            self.send_error(404, f"nothing for {tokens[-1]}")

    with listening(Refusing) as url:
        server = {"url": url, "token": "${OUR_TOKEN}", "retries": 0}
        project.config(index={"server": server})
        unset = cli(*RUN)
        monkeypatch.setenv("OUR_TOKEN", "s3cret-4711")
        refused = cli(*RUN)
        project.config(index={"server": {**server, "token": "s3cret-4711"}})
        written = cli(*RUN)

    assert (unset.status, refused.status, written.status) == (2, 2, 2)
    assert "OUR_TOKEN is not set" in unset.err
    assert set(tokens) == {"Bearer s3cret-4711"}
    assert "Bearer $OUR_TOKEN" in refused.err
    assert "s3cret-4711" not in refused.err + written.err


def test_a_cloud_without_its_key_is_refused_by_the_key_s_name(project, cli, monkeypatch):
    monkeypatch.delenv("CHROMA_API_KEY", raising=False)
    project.config(index={"cloud": {"tenant": "team", "database": "docs"}})
    said = cli(*RUN)

    assert (said.status, said.out) == (2, "")
    assert "CHROMA_API_KEY is not set" in said.err


def test_an_index_that_finds_too_little_is_warned_of(project, cli):
    """An index of few links, searched at one place, loses what lies beyond."""
    chance = random.Random(7)
    texts = [" ".join(f"w{chance.randrange(999)}" for _ in range(12)) for _ in range(1_020)]
    lines = [json.dumps({"id": f"d{n}", "text": text}) for n, text in enumerate(texts[20:])]
    project.document("many.jsonl", "\n".join(lines))
    project.testset(*({"question": text, "documents": {"many.jsonl#d1": 1}} for text in texts[:20]))
    poor = {"max_neighbors": 2, "ef_construction": 4, "ef_search": 1}
    project.config(labels="documents", metrics=["mrr@4"], generators=["none"], index=poor)
    said = cli(*RUN)
    assert said.status == 0, said.err
    run = json.loads((run_folder(project.folder) / "run.json").read_text("utf-8"))
    (cell,) = run["cells"]

    assert cell["index_recall"]["mean"] < 0.9
    assert re.search(r"the index finds \d.* set index\.exact: true", " ".join(run["warnings"]))
