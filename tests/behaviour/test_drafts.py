"""`draft` proposes questions by a chat model; a person accepts them before they count."""

import json
import re
from pathlib import Path

import pytest

from tests.behaviour.golden import run_folder
from tests.behaviour.servers import rows, serving

NAMES = [
    *("river", "tower", "engine", "harbour", "meadow", "quarry", "library", "glacier"),
    *("foundry", "orchard", "canyon", "lagoon"),
]
TOPICS = ["copper", "barley", "marble", "timber"]
PASSAGE = re.compile(r'<passage number="(\d)" document="(.*?)">\n(.*?)\n</passage>', re.DOTALL)


def document(number):
    """Return a text of four sentences, no two of which share more than a few words."""
    name = NAMES[number]
    return "".join(
        f"The {name} of {topic}{number} keeps exactly {100 * number + 7 * place + 11} units. "
        for place, topic in enumerate(TOPICS)
    )


class Drafter:
    """Says what a model would; the draft of a document has the fault that `faults` names."""

    def __init__(self, **faults):
        self.faults = faults
        self.answers = {}

    def __call__(self, prompt):
        passages = PASSAGE.findall(prompt)
        if passages and "does not answer" in prompt:
            name = passages[0][2].split()[1]
            return f"QUESTION: Who was the first owner of the {name} in that county?"
        if passages:
            return self.draft([text for _, _, text in passages])
        question = re.search(r"(?:<question>\n|Question: )(.*)", prompt)[1]
        answer, fault = self.answers.get(question, ("", ""))
        if "<context>" in prompt:
            return "no\nIt is not there."
        if "<evidence>" in prompt:
            return "no\nNo." if fault == "unsupported" else "yes\nYes."
        return answer if fault == "known" else "Nobody knows."

    def draft(self, texts):
        quotes = [re.search(r"The .*? units\.", text)[0] for text in texts]
        words = [quote.split() for quote in quotes]
        fault = self.faults.get(words[0][1], "")
        subject = " and of ".join(f"{each[1]} {each[3]}" for each in words)
        answer = " and ".join(each[6] for each in words) + " units"
        question = f"How much is stored by the one of {subject}?"
        if fault == "refers":
            question = f"What does the passage say of {subject}?"
        if fault == "leaks":
            question = f"Why are {answer} kept by {subject}?"
        if fault == "quote":
            quotes[0] = "Nothing of this kind was ever written by anybody at all."
        if fault == "unsupported":
            answer = "a dozen, as everybody knows"
        if fault == "unread":
            return "I would ask about something else."
        self.answers[question] = answer, fault
        lines = [f"EVIDENCE {number}: {quote}" for number, quote in enumerate(quotes, 1)]
        return "\n".join([f"QUESTION: {question}", f"ANSWER: {answer}", *lines])


@pytest.fixture
def drafted(project):
    """Return a function that writes a project, with a server that drafts with these faults."""
    for path in (project.folder / "corpus").iterdir():
        path.unlink()
    for number, name in enumerate(NAMES):
        project.document(f"{name}.md", document(number))
    (project.folder / "testset.jsonl").unlink()
    with serving(Drafter()) as chat:
        project.config(chat=chat.settings("drafter"), retrievers=["bm25"])
        yield chat


def draft(cli, *options, out="drafts.jsonl"):
    return cli("draft", "config.yaml", "-o", out, *options)


def test_drafts_have_an_answer_and_a_quote_of_the_corpus_and_are_marked(drafted, cli):
    said = draft(cli, "--n", "8")
    written = rows(Path("drafts.jsonl"))
    answered = [row for row in written if row.get("answerable", True)]

    assert said.status == 0, said.err
    assert "8 of 8 questions drafted" in said.out
    assert "python -m harness draft accept drafts.jsonl --all" in said.out
    assert len(written) == 8
    assert len(answered) == 7  # one in eight is unanswerable
    for row in written:
        assert row["draft"] is True
        assert row["drafted"]["by"] == "openai:drafter"
    for row in answered:
        for passage in row["evidence"]:
            text = Path("corpus", passage["doc"]).read_text("utf-8")
            assert text[passage["start"] : passage["end"]] == passage["quote"]


FAULTS = {
    "river": "refers",
    "tower": "leaks",
    "engine": "quote",
    "harbour": "unsupported",
    "meadow": "known",
    "quarry": "unread",
}


def test_every_fault_is_dropped_and_counted(drafted, cli):
    drafted.says = Drafter(**FAULTS)
    said = draft(cli, "--n", "12", "--categories", "direct_fact")
    written = rows(Path("drafts.jsonl"))
    text = " ".join(json.dumps(row) for row in written)

    assert said.status == 0, said.err
    # A document has one passage, and of each of six the only draft has a fault.
    assert "6 of 12 questions drafted" in said.out
    assert "12 drafts asked for, 6 dropped" in said.out
    assert len([line for line in said.out.splitlines() if line.startswith("  - 1 ")]) == 6
    assert not any(f"of {name} " in text for name in FAULTS)
    assert len(written) == 6


def test_only_the_categories_that_are_named_are_drafted(drafted, cli):
    said = draft(cli, "--n", "4", "--categories", "direct_fact")
    wrong = draft(cli, "--categories", "riddle", out="other.jsonl")

    assert said.status == 0, said.err
    assert {row["category"] for row in rows(Path("drafts.jsonl"))} == {"direct_fact"}
    assert wrong.status == 2
    assert "riddle" in wrong.err
    assert not Path("other.jsonl").exists()


def test_what_the_model_said_is_kept_and_the_same_command_asks_nothing_again(drafted, cli):
    draft(cli, "--n", "6")
    first, asked = Path("drafts.jsonl").read_bytes(), len(drafted.requests)
    there = draft(cli, "--n", "6")
    again = draft(cli, "--n", "6", "--force")

    assert there.status == 2
    assert "drafts.jsonl" in there.err
    assert again.status == 0, again.err
    assert Path("drafts.jsonl").read_bytes() == first
    assert len(drafted.requests) == asked


def test_a_run_on_drafts_says_so_until_a_person_has_accepted_them(drafted, cli):
    draft(cli, "--n", "4", out="testset.jsonl")
    ids = [row["id"] for row in rows(Path("testset.jsonl"))]
    warning = "questions are drafts that no person has accepted"
    before = cli("run", "config.yaml")
    some = cli("draft", "accept", "testset.jsonl", "--id", ids[0], "--id", ids[1])
    marks = [row.get("draft") for row in rows(Path("testset.jsonl"))]
    rest = cli("draft", "accept", "testset.jsonl", "--all")
    after = cli("run", "config.yaml")

    assert f"4 of 4 {warning}" in before.out
    assert (some.status, some.out) == (0, "2 accepted, 2 still drafts: testset.jsonl\n")
    assert marks == [None, None, True, True]
    assert (rest.status, rest.out) == (0, "2 accepted, 0 still drafts: testset.jsonl\n")
    assert after.status == 0, after.err
    assert warning not in after.out
    assert warning not in (run_folder(Path.cwd()) / "report.md").read_text("utf-8")


def test_accept_names_what_it_cannot_accept_and_changes_nothing(project, cli):
    project.testset({"id": "a", "question": "A?", "draft": True}, {"id": "b", "question": "B?"})
    before = Path("testset.jsonl").read_bytes()
    wrong = cli("draft", "accept", "testset.jsonl", "--id", "a", "--id", "b")
    nothing = cli("draft", "accept", "testset.jsonl")

    assert wrong.status == 2
    assert "no draft with the id 'b'" in wrong.err
    assert nothing.status == 2
    assert "nothing says what to accept" in nothing.err
    assert Path("testset.jsonl").read_bytes() == before


def test_a_model_that_is_gone_ends_drafting_with_3(drafted, cli):
    drafted.says = lambda prompt: (400, "no such model")
    said = draft(cli, "--n", "3")

    assert said.status == 3
    assert "no such model" in said.err
    assert not Path("drafts.jsonl").exists()


def test_drafting_without_a_chat_model_is_refused(project, cli):
    said = draft(cli)

    assert said.status == 2
    assert "chat" in said.err
