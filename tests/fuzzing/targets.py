"""What reads text of strangers: each target, what it is given, and how."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from harness import evaluate_answers, evaluate_run, testset
from harness.config import prices
from harness.config import run_config as configuration
from harness.corpus import Corpus, readers
from harness.corpus import load as load_corpus
from harness.files import trec
from harness.metrics import named_metrics
from harness.people import saved_forms, thumbs
from harness.people.pool_labels import import_labels
from harness.preflight import traffic_file as traffic
from harness.store.reader import load as load_run
from harness.systems.json_paths import Paths
from harness.systems.json_paths import read as read_reply
from harness.testset import testset_reader
from harness.text import spans as locating
from tests.fuzzing import configs
from tests.fuzzing.texts import as_json, mutated, nasty, rows, tables, values
from tests.support import rated, small

_QUESTION = {
    "id": "q1",
    "question": "How far away is the Moon?",
    "answers": ["384,400 km"],
    "keywords": ["384,400 km"],
    "evidence": [{"doc": "moon.md", "quote": "It is 384,400 km away on average.", "grade": 2}],
    "documents": {"moon.md": 1},
    "category": "space",
}
_KEYS = (*_QUESTION, "answer", "answerable", "difficulty", "draft", "drafted", "text", "_id")
_TEXT = "# Moon\n\nThe Moon has no air and no weather. It is 384,400 km away on average.\n"
_SQUAD = {
    "version": "v2.0",
    "data": [
        {
            "title": "moon.md",
            "paragraphs": [
                {
                    "context": "It is 384,400 km away.",
                    "qas": [
                        {
                            "id": "q1",
                            "question": "How far?",
                            "answers": [{"text": "384,400 km", "answer_start": 6}],
                            "is_impossible": False,
                        }
                    ],
                }
            ],
        }
    ],
}
_TOPICS = b"<top>\n<num> Number: 301\n<title> Moon\n<desc> Description:\nHow far?\n</top>\n"
_XML = (
    b'<topics><topic number="301"><query>Moon</query><question>How far?</question></topic></topics>'
)
_QRELS = b"q1 0 moon.md 1\nq1 0 mars.md 0\nq2 0 mars.md 2\n"
_BEIR = b"query-id\tcorpus-id\tscore\nq1\tmoon.md\t1\n"
_RUN = b"q1 Q0 moon.md 1 0.9 bm25\nq1 Q0 mars.md 2 -1e-3 bm25\nq2 Q0 mars.md 1 3 bm25\n"
_PRICES = b'currency: USD\nas_of: 2026-01-31\nmodels:\n  "openai:m": {input: 0.1, output: 0.4}\n'
_ANSWER = {"id": "1", "question": "How far?", "answer": "384,400 km", "references": ["384,400 km"],
           "contexts": ["It is 384,400 km away."], "answerable": True}  # fmt: skip
_RAGAS = {"user_input": "How far?", "reference": "384,400 km", "synthesizer_name": "single",
          "reference_contexts": ["It is 384,400 km away on average."]}  # fmt: skip
_THUMB = {"question": "day", "thumb": "up", "comment": "", "user": "u", "time": "2025-01-31T12:00Z"}
_LABEL = {"id": "q1", "doc": "mars.md", "grade": 1, "question": "How far away is the Moon?"}
_ASKED = {"question": "How far away is the Moon?", "category": "space"}
_REPLY = {"answer": "a", "contexts": [{"text": "t", "id": "moon.md", "score": 0.5}], "tokens": 3}
_PATHS = Paths(answer="$.answer", contexts="$.contexts[*].text", ids="$.contexts[*].id",
               scores="$.contexts[*].score", tokens_in="$.tokens")  # fmt: skip


@dataclass(frozen=True)
class Target:
    """What reads: `given` makes what it is given, `read` hands it over and returns what came.

    What is `sound` is understood.
    """

    given: st.SearchStrategy[Any]
    read: Callable[[Any], Any]
    sound: Any


def targets(folder: Path) -> dict[str, Target]:
    """Return every target by its name; what they read is written into `folder`."""
    corpus = _corpus(folder / "corpus")
    stored = small.stored(folder / "small", chunkers=["markdown"], retrievers=["bm25"])
    cell = stored.run.cells[0].name
    known = {"form1": rated.form(stored, [("day", [cell]), ("docks", [cell])])}
    stored = load_run(stored.folder)
    sheet = rated.saved(folder / "sheet.json", [rated.item("i0", 2, [1])]).read_bytes()
    matcher = thumbs.ThumbMatcher(stored, None)

    def file(name: str, content: bytes) -> Path:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def config(
        content: bytes, given: list[str] | None = None, key: str = "", value: str = ""
    ) -> Any:
        environment = {f"HARNESS_{key.upper()}": value} if key else {}
        path = file("config.yaml", content)
        found = configuration.load(path, given or (), environment)
        return found.settings.model_dump()

    def questions(name: str, content: bytes, form: str | None = None) -> Any:
        path = str(file(name, content))
        spec: Any = path if form is None else {form: path}
        return testset.load(testset_reader(spec, str), corpus)

    def beir(content: bytes) -> Any:
        half = content.find(b"\n\n")
        queries, qrels = (content, _BEIR) if half < 0 else (content[:half], content[half + 2 :])
        file("beir/queries.jsonl", queries)
        (folder / "beir/qrels").mkdir(exist_ok=True)
        file("beir/qrels/test.tsv", qrels)
        return testset.load(testset_reader({"beir": str(folder / "beir")}, str), corpus)

    def topics(content: bytes) -> Any:
        qrels = file("judged.txt", b"301 0 moon.md 1\n")
        path = file("topics.txt", content)
        return testset.load(
            testset_reader({"trec": {"path": str(path), "qrels": str(qrels)}}, str), corpus
        )

    def evaluated(both: tuple[bytes, bytes]) -> Any:
        qrels, run = file("qrels.txt", both[0]), file("run.txt", both[1])
        judged, ranked = trec.read_qrels(qrels), trec.read_run(run)
        return evaluate_run(judged, ranked).values()

    def sheets(content: bytes) -> Any:
        path = file("form.json", content)
        return saved_forms.read([path], known)

    def squad(content: bytes) -> Any:
        path = str(file("t.json", content))
        return testset.load(testset_reader({"squad": path}, str), paragraphs)

    paragraphs = load_corpus(
        readers.build({"squad": {"path": str(file("squad.json", json.dumps(_SQUAD).encode()))}})
    )
    sound = json.dumps(_QUESTION).encode()
    beir_rows = [{"_id": "q1", "text": "How far?"}, {"_id": "q2", "text": "Which?"}]
    environment = st.tuples(st.sampled_from(["SEED", "METRICS", "CORPUS", "GATE", "CACHE"]), nasty)
    return {
        "config": Target(configs.files, config, _sound()),
        "override": Target(
            configs.overrides, lambda given: config(_sound(), given), ["retrieve=7"]
        ),
        "environment": Target(
            environment, lambda given: config(_sound(), None, *given), ("SEED", "8")
        ),
        "metric": Target(configs.expressions, _metric, "ndcg(gain=exponential)@5"),
        "jsonl": Target(
            st.one_of(rows(_KEYS, [_QUESTION]), mutated([sound])),
            lambda content: questions("t.jsonl", content),
            sound,
        ),
        "yaml": Target(
            st.one_of(
                mutated([b"- " + sound, b"- question: How far?\n  answers: [a, b]\n  id: 1\n"]),
                st.lists(values, max_size=3).map(lambda v: as_json(v).encode("utf-8", "replace")),
            ),
            lambda content: questions("t.yaml", content),
            b"- " + sound,
        ),
        "csv": Target(
            st.one_of(tables([*_KEYS, "evidence_doc", "evidence_quote"]), mutated([_csv()])),
            lambda content: questions("t.csv", content, "csv"),
            _csv(),
        ),
        "beir": Target(
            st.one_of(
                rows(["_id", "text"], beir_rows),
                mutated([json.dumps(beir_rows[0]).encode() + b"\n\n" + _BEIR]),
            ),
            beir,
            json.dumps(beir_rows[0]).encode() + b"\n\n" + _BEIR,
        ),
        "squad": Target(
            mutated([json.dumps(_SQUAD).encode()]),
            squad,
            json.dumps(_SQUAD).encode(),
        ),
        "trec": Target(mutated([_TOPICS, _XML, b"301\tHow far?\n"]), topics, _XML),
        "ragas": Target(
            st.one_of(rows(list(_RAGAS), [_RAGAS]), mutated([json.dumps([_RAGAS]).encode()])),
            lambda content: questions("r.jsonl", content, "ragas"),
            json.dumps(_RAGAS).encode(),
        ),
        "autorag": Target(
            mutated([_parquet(folder / "seed.parquet")]),
            lambda content: questions("qa.parquet", content, "autorag"),
            _parquet(folder / "seed.parquet"),
        ),
        "qrels and runs": Target(
            st.one_of(
                st.tuples(mutated([_QRELS, _BEIR]), mutated([_RUN])),
                st.tuples(st.just(_QRELS), mutated([_RUN])),
            ),
            evaluated,
            (_QRELS, _RUN),
        ),
        "answers": Target(
            st.one_of(rows(list(_ANSWER), [_ANSWER]), mutated([json.dumps(_ANSWER).encode()])),
            lambda content: _answers(file("answers.jsonl", content)),
            json.dumps(_ANSWER).encode(),
        ),
        "prices": Target(
            mutated([_PRICES]),
            lambda content: prices.read_prices(file("p.yaml", content), "p.yaml").line,
            _PRICES,
        ),
        "forms": Target(mutated([sheet]), sheets, sheet),
        "thumbs": Target(
            st.one_of(rows(list(_THUMB), [_THUMB]), mutated([json.dumps(_THUMB).encode()])),
            lambda content: thumbs.read(file("thumbs.jsonl", content), matcher),
            json.dumps(_THUMB).encode(),
        ),
        "thumbs in a table": Target(
            st.one_of(tables(list(_THUMB)), mutated([b"question,thumb\nday,up\n"])),
            lambda content: thumbs.read(file("thumbs.csv", content), matcher),
            b"question,thumb\nday,up\n",
        ),
        "labels": Target(
            st.one_of(rows(list(_LABEL), [_LABEL]), mutated([json.dumps(_LABEL).encode()])),
            lambda content: import_labels(
                [file("labels.jsonl", content)],
                folder / "testset.jsonl",
                folder / "judged.jsonl",
                corpus,
                force=True,
            ),
            json.dumps(_LABEL).encode(),
        ),
        "traffic": Target(
            st.one_of(rows(list(_ASKED), [_ASKED]), mutated([b"How far?\nWhich?\n"])),
            lambda content: traffic.read(file("asked", content)),
            b"How far?\n",
        ),
        "replies": Target(
            st.one_of(
                rows(list(_REPLY), [_REPLY]).map(lambda raw: raw.partition(b"\n")[0]),
                mutated([json.dumps(_REPLY).encode()]),
                values.map(lambda value: as_json(value).encode("utf-8", "replace")),
            ),
            lambda content: read_reply(content.decode("utf-8", "replace"), _PATHS),
            json.dumps(_REPLY).encode(),
        ),
        "locate": Target(
            st.one_of(nasty, st.text(max_size=200), st.sampled_from([_TEXT[4:40], "no  air"])),
            lambda quote: locating.locate(quote, _TEXT * 3),
            "no  air",
        ),
    }


def _metric(spec: Any) -> str:
    return named_metrics.build_metric(spec).name


def _answers(path: Path) -> Any:
    return evaluate_answers(path, ["exact_match", "token_f1", "context_overlap"]).values()


def _sound() -> bytes:
    return json.dumps(configs.SOUND).encode()


def _csv() -> bytes:
    return b"id,question,answers,evidence_doc,evidence_quote\n1,How far?,a|b,moon.md,no air\n"


def _corpus(folder: Path) -> Corpus:
    folder.mkdir()
    (folder / "moon.md").write_text(_TEXT, "utf-8")
    (folder / "mars.md").write_text("# Mars\n\nMars has two moons, Phobos and Deimos.\n", "utf-8")
    (folder.parent / "testset.jsonl").write_text(json.dumps(_QUESTION) + "\n", "utf-8")
    return load_corpus(readers.build({"folder": {"path": str(folder)}}))


def _parquet(path: Path) -> bytes:
    import pyarrow
    import pyarrow.parquet

    row = {"qid": "q1", "query": "How far?", "retrieval_gt": [["moon.md"]], "generation_gt": ["a"]}
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    return path.read_bytes()
