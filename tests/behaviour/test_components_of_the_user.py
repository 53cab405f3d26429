"""Components from outside the package: by dotted name, of LangChain's classes, held to promises."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.behaviour.golden import run_folder
from tests.behaviour.servers import rows

PAGE = Path(__file__).parent.parent.parent / "docs" / "components.md"
MODULE = '''
from dataclasses import dataclass, replace

import numpy as np
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_text_splitters import TextSplitter

from harness.protocols import Chunker
from harness.records import Answer, Hit


class ByLine(TextSplitter):
    def split_text(self, text):
        return text.splitlines()


class Shouting(TextSplitter):
    def split_text(self, text):
        return [text.upper()]


class Backwards(BaseRetriever):
    """The last documents, whatever the question."""

    documents: list
    k: int = 1

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents[::-1][: self.k]


class Storing(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("elsewhere")]


class Formless(Chunker):
    name, version = "formless", 1


class Shapeless:
    name, version = "shapeless", 1


class Texts:
    name, version = "texts", 1

    def split(self, text):
        return ["moon", "mars"]


class Beyond:
    name, version = "beyond", 1

    def split(self, text):
        return [(0, len(text) + 1)]


class Long:
    name, version = "long", 1

    def embed(self, texts, kind):
        return np.full((len(texts), 4), 2.0, dtype=np.float32)


class Short(Long):
    def embed(self, texts, kind):
        return np.ones((1, 1), dtype=np.float32)


class Endless:
    name, version = "endless", 1

    def retrieve(self, questions, index, k):
        return [[Hit(chunk, 1.0) for chunk in index.chunks]] * (len(questions) + 1)
'''


@pytest.fixture
def own(project, monkeypatch):
    """Return the small project with modules of the user's own beside its configuration."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    for name in ("parts", "my_metrics", "my_chunkers", "my_embedders"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (project.folder / "parts.py").write_text(MODULE, "utf-8")
    return project


def ran(own, cli):
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    folder = run_folder(own.folder)
    return json.loads((folder / "run.json").read_text("utf-8")), rows(folder / "records.jsonl")


def test_the_examples_of_the_documentation_run_as_they_stand_and_are_short(own, cli):
    examples = re.findall(r"```python\n# (\w+\.py).*?\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    lines = {}
    for name, code in examples:
        (own.folder / name).write_text(code, "utf-8")
        body = code[code.index("class ") :]
        lines[name] = len([line for line in body.splitlines() if line.strip()])
    own.config(
        chunkers=[{"my_chunkers:Paragraphs": {"least": [1, 40]}}],
        embedders=["my_embedders:Letters"],
        metrics=["my_metrics:Brief", "passage_recall@2"],
    )
    run, _ = ran(own, cli)

    assert lines == {"my_metrics.py": 12, "my_chunkers.py": 11, "my_embedders.py": 10}
    assert [cell["chunker"] for cell in run["cells"]] == [
        "my_chunkers:Paragraphs",
        "my_chunkers:Paragraphs(least=40)",
    ]
    assert {cell["embedder"] for cell in run["cells"]} == {"my_embedders:Letters"}
    assert run["cells"][1]["scores"]["passage_recall@2"]["mean"] == 1.0


def test_a_text_splitter_of_langchain_is_a_chunker_whose_chunks_have_places(own, cli):
    splitter = {"langchain_text_splitters:CharacterTextSplitter": {"separator": ". "}}
    splitter["langchain_text_splitters:CharacterTextSplitter"] |= {
        "chunk_size": 40,
        "chunk_overlap": 0,
        "header": "title",
    }
    own.config(chunkers=["parts:ByLine", splitter], retrievers=["bm25"])
    run, records = ran(own, cli)
    text = (own.folder / "corpus" / "moon.md").read_text("utf-8")
    found = {
        text[hit["start"] : hit["end"]]
        for record in records
        for hit in record["hits"]
        if hit["doc"] == "moon.md"
    }

    assert run["cells"][0]["chunker"] == "langchain(cls=parts:ByLine)"
    assert "It is 384,400 km away on average." in found
    assert "The Moon has no air and no weather. It is 384,400 km away on average." in found


def test_a_retriever_of_langchain_ranks_the_chunks_it_is_given(own, cli):
    own.config(retrievers=["parts:Backwards(k=3)"], chunkers=["whole"], retrieve=2)
    run, records = ran(own, cli)

    assert run["cells"][0]["retriever"] == "langchain(cls=parts:Backwards, arguments=(k=3))"
    # By their numbers the chunks of moon.md come first; its k is what the run asks for.
    assert [(hit["doc"], hit["score"]) for hit in records[0]["hits"]] == [
        ("mars.md", 1.0),
        ("moon.md", 0.5),
    ]


def test_another_version_or_text_of_a_class_makes_anew_what_it_gave(own, cli):
    own.config(chunkers=["parts:Whole"])
    code = "class Whole:\n    name, version = 'whole', {}\n    def split(self, text):\n"
    code += "        yield 0, len(text)\n"
    made = []
    for version in (1, 1, 2):
        sys.modules.pop("parts", None)
        (own.folder / "parts.py").write_text(code.format(version), "utf-8")
        run, _ = ran(own, cli)
        made.append(run["cache"]["chunks"]["made"])

    assert made == [1, 0, 1]


@pytest.mark.parametrize(
    ("family", "spec", "fact"),
    [
        ("chunkers", "parts:Formless", "chunkers[0]: chunker 'parts:Formless': it has no 'split'"),
        ("chunkers", "parts:Shapeless", "it has no 'split', nor 'split_document'"),
        ("embedders", "parts:Shapeless", "embedder 'parts:Shapeless': it has no 'embed'"),
        ("retrievers", "parts:Shapeless", "retriever 'parts:Shapeless': it has no 'retrieve'"),
        ("rerankers", "parts:Shapeless", "reranker 'parts:Shapeless': it has no 'rerank'"),
        ("generators", "parts:Shapeless", "generator 'parts:Shapeless': it has no 'answer'"),
        ("chunkers", "nowhere:Any", "module 'nowhere' cannot be imported"),
        ("chunkers", "parts:ByLin", "did you mean 'ByLine'?"),
        ("retrievers", "parts:Storing", "no `from_documents` and no field `documents`"),
        ("chunkers", {"parts:ByLine": {"siz": 3}}, "'parts:ByLine' cannot be made"),
    ],
)
def test_what_breaks_a_promise_as_it_is_loaded_is_refused_with_its_line(
    family, spec, fact, own, refused
):
    own.config(**{family: [spec]})

    assert fact in " ".join(" ".join(refused()).split())


@pytest.mark.parametrize(
    ("family", "name", "promise"),
    [
        ("chunkers", "Texts", "gave 'moon' for document 'moon.md', which is no (start, end)"),
        ("chunkers", "Beyond", "gave (0, 79) for document 'moon.md', which is no (start, end)"),
        ("chunkers", "Shouting", "'parts:Shouting' gave a piece that stands nowhere"),
        ("embedders", "Long", "gave a vector of length 4, and promises length 1"),
        ("embedders", "Short", "and promises a row of numbers for each of"),
        ("retrievers", "Endless", "gave 4 rankings for 3 questions"),
    ],
)
def test_what_breaks_a_promise_as_it_is_used_ends_the_run_and_is_named(
    family, name, promise, own, cli
):
    own.config(**{family: [f"parts:{name}"]})
    said = cli("run", "config.yaml")

    assert said.status in (2, 3)
    assert "Traceback" not in said.err
    assert name in said.err
    assert promise in " ".join(said.err.split())
