"""Functions and runnables of the user's own as systems under test."""

import os

import pytest

from harness import user_code
from harness.errors import HarnessError, StageError
from harness.systems import expand_spec, systems
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
