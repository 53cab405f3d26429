"""Systems of the user's own: functions, runnables and files, and what is read of their replies."""

import json
import os
from pathlib import PurePosixPath
from types import SimpleNamespace
from uuid import UUID

import numpy as np
import pytest

from harness import user_code
from harness.errors import DataError, HarnessError, SpecError, StageError
from harness.systems import expand_spec, reply, systems
from harness.systems.reply import RetrievedText, SystemReply

APP = """
import sys
from types import SimpleNamespace

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

def ask(question):
    if question == "raise":
        raise RuntimeError("no reply\\nand more of it")
    if question == "exit":
        sys.exit(3)
    return [{"id": "a.md", "text": question}], question.upper()

def lazy(question):
    def documents():
        yield "one"
        raise TimeoutError("30 s")
    return documents(), "x"

async def later(question):
    return [], ""

class Own:
    def __call__(self, question):
        return {"answer": "called", "contexts": None}

made = Own()
number = 6

class Found(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        if query == "raise":
            raise KeyError(query)
        return [Document(query, metadata={"source": "docs/a.md", "start_index": 5}), Document("b")]

retriever = Found()
usage = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}

def retrieved(said):
    found = retriever.invoke(said["input"])
    return {**said, "context": found, "answer": AIMessage("yes", usage_metadata=usage)}

chain = RunnableLambda(retrieved)
deep = RunnableLambda(lambda question: {"out": {"text": question, "docs": ["x"]}})
model = RunnableLambda(lambda question: AIMessage(question))
places = RunnableLambda(lambda question: {"out": [{"text": "first"}, {"text": "second"}]})

class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, **options):
        said = AIMessage("the agent says: " + messages[-1].content, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=said)])

agent = create_agent(Scripted(messages=iter([])), tools=[])
"""


@pytest.fixture
def app(tmp_path, monkeypatch):
    """Return the name of a module beside a configuration."""
    name = f"app_of_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(APP)
    monkeypatch.setattr("sys.path", __import__("sys").path[:])
    with user_code.importing(tmp_path):
        python(f"{name}:app")
    return name


def python(name, **parameters):
    return systems.build({"python": {"function": name, **parameters}})


def runnable(name, **parameters):
    return systems.build({"runnable": {"object": name, **parameters}})


def failure(call):
    with pytest.raises(StageError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("returned", "read"),
    [
        (([], ""), SystemReply((), "")),
        (
            (["a", {"id": 0, "text": "b"}], None),
            SystemReply((RetrievedText("a"), RetrievedText("b", ("0",))), None, "answer is null"),
        ),
        (
            ([SimpleNamespace(page_content="a", id="x", metadata={"source": "s", "id": 3})], "y"),
            SystemReply((RetrievedText("a", ("x", "3", "s")),), "y"),
        ),
        ({"answer": "x"}, SystemReply(None, "x")),
        (
            {"documents": ["a"], "answer": None},
            SystemReply((RetrievedText("a"),), None, "answer is null"),
        ),
        ({"contexts": [{"id": "d"}]}, SystemReply((RetrievedText("", ("d",)),))),
        (
            {"contexts": [{"text": "a", "start": 3, "score": 1}]},
            SystemReply((RetrievedText("a", (), 3, 1.0),)),
        ),
        (
            {"answer": "x", "declined": True, "context": "sent", "tokens_in": 1, "model": "m"},
            SystemReply(None, "x", None, True, "sent", 1, None, "m"),
        ),
        ("x", SystemReply(None, "x")),
        (iter(["a"]), SystemReply((RetrievedText("a"),))),
        (SimpleNamespace(content="x"), SystemReply(None, "x")),
        (SimpleNamespace(content=[{"type": "text"}], text="x"), SystemReply(None, "x")),
    ],
)
def test_every_form_of_reply_is_read(returned, read):
    assert reply.parse_reply(returned) == read


ID = UUID(int=7)


@pytest.mark.parametrize(
    ("metadata", "ids", "start"),
    [
        ({"source": "a.md", "start_index": -1}, ("a.md",), None),
        ({"source": "a.md", "start": "00:10"}, ("a.md",), None),
        ({"source": "a.md", "start": 1.5}, ("a.md",), None),
        ({"source": PurePosixPath("docs/a.md"), "id": ID}, (str(ID), "docs/a.md"), None),
        ({"source": ["a.md"], "id": {"x": 1}, "start_index": True}, (), None),
        ({"id": np.int64(3), "start_index": np.int32(5)}, ("3",), 5),
        ({"source": "half \ud800"}, (), None),
    ],
)
def test_a_hint_in_metadata_that_makes_no_sense_is_left_out(metadata, ids, start):
    document = SimpleNamespace(page_content="a", id=None, metadata=metadata)
    mapping = {"text": "a", "metadata": metadata}

    assert (
        reply.parse_reply(([document, mapping], "x")).contexts
        == (RetrievedText("a", ids, start),) * 2
    )


def test_numbers_of_numpy_and_ids_of_other_types_are_read_where_they_are_told():
    context = {"id": ID, "text": "a", "start": np.int64(2), "score": np.float32(0.5)}
    other = {"id": PurePosixPath("b.md"), "text": "b"}
    said = reply.parse_reply(
        {"contexts": [context, other], "declined": np.True_, "tokens_in": np.int8(4)}
    )

    contexts = (RetrievedText("a", (str(ID),), 2, 0.5), RetrievedText("b", ("b.md",)))
    assert said == SystemReply(contexts, declined=True, tokens_in=4)
    assert type(said.tokens_in) is int
    assert said.declined is True


class Odd:
    """A value that does not want to be shown."""

    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "the system returned null: neither contexts nor an answer"),
        (6, "the system returned 6: neither contexts nor an answer"),
        (b"x", "the system returned of type bytes: neither contexts nor an answer"),
        (Odd(), "the system returned of type Odd: neither contexts nor an answer"),
        ({}, "the reply has neither 'contexts' nor 'answer': it holds nothing"),
        ({"text": 1}, "the reply has neither 'contexts' nor 'answer': it holds 'text'"),
        (("x", "y"), "the documents: not a list of them, but 'x'"),
        ((None, "y"), "the documents: not a list of them, but null"),
        (([], 6), "the answer is 6, not a text"),
        (([7], "y"), "the documents[0] is 7: no text, mapping or document"),
        (([Odd()], "y"), "the documents[0] is of type Odd: no text, mapping or document"),
        (([{}], "y"), "the documents[0] has neither `text` nor `id`"),
        (([{"text": None}], "y"), "the documents[0].text is null, not a text"),
        (([{"text": "a", "metadata": 3}], "y"), "the documents[0].metadata is 3, not a mapping"),
        (([{"text": "a", "id": 1.5}], "y"), "the documents[0].id is 1.5, not a text"),
        (
            ([{"text": "a", "score": float("nan")}], "y"),
            "the documents[0].score is nan, not a finite number",
        ),
        (
            ([{"text": "a", "score": 10**400}], "y"),
            "the documents[0].score is of type int, not a finite number",
        ),
        (
            ([{"text": "a", "start": -1}], "y"),
            "the documents[0].start is -1, not a whole number from 0",
        ),
        (([{"text": "a", "id": ["b"]}], "y"), "the documents[0].id is of type list, not a text"),
        (["a\ud800"], "the documents[0] holds half of a character, at 1"),
        ((["x"] * 10_001, "y"), "the documents: there are more than 10,000"),
        ({"answer": "x", "declined": "no"}, "declined is 'no', not true or false"),
        ({"answer": "x", "tokens_in": 1.0}, "tokens_in is 1.0, not a whole number from 0"),
        ("x" * 1_000_001, "the answer has 1,000,001 characters, more than 1,000,000"),
    ],
)
def test_what_makes_no_sense_is_the_failure_of_its_question(returned, said):
    assert failure(lambda: reply.parse_reply(returned)) == said


def test_a_function_beside_the_configuration_is_called_with_the_question(app):
    system = python(f"{app}:ask")
    system.check()

    assert system.ask("q1", "why") == SystemReply((RetrievedText("why", ("a.md",)),), "WHY")
    assert system.shown == f"python({app}:ask)"
    assert python(f"{app}.made").ask("q1", "why") == SystemReply(None, "called")
    assert python(f"{app}:ask", label="mine").shown == "mine"
    assert expand_spec({"python": "a:b"}) == {"python": {"function": "a:b"}}
    several = {"python": {"function": "a:b", "label": "x"}}
    assert expand_spec({"python": "a:b", "label": "x"}) == several
    assert expand_spec({"label": "x", "python": "a:b"}) == several


def test_any_failure_of_a_function_is_that_of_its_question(app, monkeypatch):
    monkeypatch.setenv("APP_TOKEN", "no reply")
    system = python(f"{app}:ask")

    assert failure(lambda: system.ask("q", "raise")) == "the system raised RuntimeError: $APP_TOKEN"
    assert failure(lambda: system.ask("q", "exit")) == "the system raised SystemExit: 3"
    lazy = python(f"{app}:lazy")
    assert failure(lambda: lazy.ask("q", "x")) == "the system raised TimeoutError: 30 s"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("{app}:number", "cannot be called"),
        ("{app}:later", "is async"),
        ("{app}:retriver", "has no 'retriver'"),
        ("no_such_module_at_all:ask", "module 'no_such_module_at_all' cannot be imported"),
    ],
)
def test_a_function_that_cannot_be_called_is_said_before_anything_is_asked(app, name, said):
    with pytest.raises(HarnessError) as caught:
        python(name.format(app=app)).check()

    assert said in str(caught.value)


def test_a_module_that_ends_the_process_is_refused(tmp_path, app):
    (tmp_path / f"{app}_script.py").write_text("import sys\nsys.exit('usage: script FILE')\n")
    with pytest.raises(HarnessError, match=r"its module ends the process \(usage: script FILE\)"):
        python(f"{app}_script:ask").check()


def test_another_text_of_the_file_is_another_system(app, tmp_path):
    before = python(f"{app}:ask").identity()
    same = python(f"{app}:ask", concurrent=5, cache=False, label="x").identity()
    (tmp_path / f"{app}.py").write_text(APP + "\n# changed\n")

    assert same == before
    assert python(f"{app}:ask").identity() != before


def test_another_text_of_the_file_that_a_function_is_defined_in_is_another_system(app, tmp_path):
    package = f"{app}_package"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(f"from {package}.rag import ask, bound, made\n")
    defined = tmp_path / package / "rag.py"
    text = (
        "import functools\nclass Own:\n    def __call__(self, question):\n        return question\n"
        "made = Own()\n@functools.cache\ndef ask(question):\n    return question\n"
        "bound = functools.partial(ask)\n"
    )
    defined.write_text(text)
    names = [f"{package}:{name}" for name in ("ask", "bound", "made")]
    before = [python(name).identity()["code"] for name in names]
    again = [python(name).identity()["code"] for name in names]
    os.utime(defined)
    defined.write_text(text + "# changed\n")

    assert again == before
    assert all(python(n).identity()["code"] != code for n, code in zip(names, before, strict=True))


def test_a_retriever_tells_its_documents_and_no_answer(app):
    system = runnable(f"{app}:retriever")
    system.check()
    contexts = (RetrievedText("why", ("docs/a.md",), 5), RetrievedText("b"))

    assert system.ask("q", "why") == SystemReply(contexts)
    assert failure(lambda: system.ask("q", "raise")) == "the system raised KeyError: 'raise'"


def test_of_what_a_chain_returns_its_keys_are_read(app):
    contexts = (RetrievedText("why", ("docs/a.md",), 5), RetrievedText("b"))

    assert runnable(f"{app}:chain", input="input").ask("q", "why") == SystemReply(
        contexts, "yes", tokens_in=5, tokens_out=1
    )
    deep = runnable(f"{app}:deep", answer="out.text", contexts="out.docs")
    assert deep.ask("q", "why") == SystemReply((RetrievedText("x"),), "why")
    alone = runnable(f"{app}:deep", answer="out.text", contexts="none")
    assert alone.ask("q", "why") == SystemReply(None, "why")
    assert (alone.tells_answers, alone.tells_contexts) == (True, False)
    assert runnable(f"{app}:model").ask("q", "why") == SystemReply(None, "why")


def test_the_last_message_of_an_agent_is_its_answer(app):
    system = runnable(f"{app}:agent", input="messages", answer="messages.-1", contexts="none")

    assert system.ask("q", "why") == SystemReply(
        None, "the agent says: why", tokens_in=5, tokens_out=1
    )
    inside = runnable(f"{app}:places", answer="out.1.text", contexts="none")
    assert inside.ask("q", "why") == SystemReply(None, "second")
    for path in ("out.2.text", "out.first", "out.-3", "out.0.text.1"):
        wrong = runnable(f"{app}:places", answer=path, contexts="none")
        assert failure(lambda wrong=wrong: wrong.ask("q", "why")).startswith(
            f"the reply has no {path!r} (it holds 'out')"
        )


def test_a_key_that_a_chain_does_not_return_is_said_with_those_it_does(app):
    said = failure(lambda: runnable(f"{app}:deep").ask("q", "why"))

    assert said == "the reply has no 'answer' (it holds 'out'): set answer: KEY, or none"
    with pytest.raises(SpecError, match="it would tell nothing"):
        runnable(f"{app}:deep", answer="none", contexts="none")
    with pytest.raises(HarnessError, match="has no `invoke`: it is no runnable"):
        runnable(f"{app}:number").check()


def trec(folder, run, answers=None):
    (folder / "my.run").write_text(run)
    given = {"path": str(folder / "my.run")}
    if answers is not None:
        (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
        given["answers"] = str(folder / "answers.jsonl")
    return systems.build({"trec_run": given})


def test_a_run_ranks_documents_by_score_and_then_by_id(tmp_path):
    system = trec(tmp_path, "q1 Q0 a 1 0.5 x\nq1 Q0 c 2 0.5 x\nq1 Q0 b 3 0.75 x\n")
    system.check()

    ranked = system.ask("q1", "any")
    assert [(each.ids, each.score) for each in ranked.contexts] == [
        (("b",), 0.75),
        (("c",), 0.5),
        (("a",), 0.5),
    ]
    assert (ranked.answer, ranked.lacking) == (None, None)
    assert (system.shown, system.tells_answers) == ("trec_run(my.run)", False)
    assert failure(lambda: system.ask("q2", "any")) == "missing from my.run"


def test_answers_come_from_a_file_beside_the_run(tmp_path):
    rows = [{"id": "q1", "answer": "x", "contexts": ["a", "b"], "tokens_out": 3}]
    system = trec(tmp_path, "q1 a 1\nq2 a 1\n", [*rows, {"id": 2, "answer": None}])
    system.check()
    contexts = (RetrievedText("", ("a",), score=1.0),)

    assert system.ask("q1", "") == SystemReply(contexts, "x", sent="a\n\nb", tokens_out=3)
    assert system.ask("q2", "") == SystemReply(contexts, lacking="missing from answers.jsonl")


def test_a_file_of_answers_with_errors_is_refused_with_all_of_them(tmp_path):
    rows = [{"id": "a", "answer": 1}, {"answer": "x"}, {"id": "b"}, {"id": "c", "answer": "x"}]
    with pytest.raises(DataError) as caught:
        trec(tmp_path, "q1 a 1\n", [*rows, rows[-1]]).check()

    assert [(each.where, each.what) for each in caught.value.problems] == [
        ("line 1", "answer is 1, not a text"),
        ("line 2", "the id is None"),
        ("line 3", "the reply has neither 'contexts' nor 'answer': it holds 'id'"),
        ("line 5", "the id 'c' is taken"),
    ]


def test_another_text_of_its_files_is_another_system(tmp_path):
    one = trec(tmp_path, "q1 a 1\n").identity()

    assert trec(tmp_path, "q1 b 1\n").identity() != one
    assert trec(tmp_path, "q1 a 1\n", []).identity() != one
    assert trec(tmp_path, "q1 a 1\n").identity() == one


def test_a_system_that_there_is_not_is_refused():
    with pytest.raises(SpecError, match=r"unknown system 'htp'"):
        expand_spec({"htp": "x"})
