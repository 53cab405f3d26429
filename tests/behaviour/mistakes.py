"""What people get wrong, one row each: the command as typed, what is wrong, and what must be said.

A finished run of the small project lies in `reports/made`. Every message names `facts`, whatever
its wording; the wording itself lies in `golden/mistakes/`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from tests.conftest import QUESTIONS

RUN = "run config.yaml"
MOON, MARS, HAMLET = QUESTIONS
MADE = "reports/made"
CHAT = {"model": "openai:gpt-test", "base_url": "http://127.0.0.1:9/v1"}
PRICES = "currency: EUR\nmodels: {'openai:gpt-test': {input: 1, output: 2}}\n"
RULES = {"baseline": "mian", "fail_if": [{"metric": "token_f1", "drop_more_than": 0.1}]}
SYSTEM = dict.fromkeys(("chunkers", "embedders", "retrievers", "generators", "context"))
SYSTEM |= {"metrics": ["token_f1"]}


TOLD = {"response": {"answer": "$.answer"}}


def embedding_class(**arguments: object) -> dict:
    """Return an embedder of OpenAI's kind, at a port that nobody listens to."""
    arguments = {
        "model": "m",
        "base_url": "http://127.0.0.1:9",
        "api_key": "${OUR_KEY}",
    } | arguments
    return {"langchain": {"cls": "langchain_openai:OpenAIEmbeddings", "arguments": arguments}}


@dataclass(frozen=True)
class Mistake:
    """A command that ends with `status` and a message that names `facts`.

    Where `status` is 2, nothing is printed but the message, and no run is stored.
    `changes` are those of the configuration. `files` are written before, None deletes one; a pair
    of texts replaces the first by the second in the file that is there.
    """

    command: str
    facts: tuple[str, ...]
    status: int = 2
    changes: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str | bytes | tuple[str, str] | None] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    library: str = ""
    """One that is not installed."""


def wrong(
    *facts: str, files: dict | None = None, command: str = RUN, status: int = 2, **changes: Any
) -> Mistake:
    """Return a mistake in the configuration."""
    return Mistake(command, facts, status, changes, files or {})


def without(library: str, *facts: str, command: str = RUN, **rest: Any) -> Mistake:
    """Return what needs a library that is not installed; the message names the extra."""
    return replace(wrong(*facts, command=command, **rest), library=library)


def questions(*facts: str, rows: tuple[dict | str, ...]) -> Mistake:
    """Return a mistake in the test set."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return Mistake(RUN, facts, files={"testset.jsonl": "".join(f"{line}\n" for line in lines)})


def typed(command: str, *facts: str, status: int = 2, **rest: Any) -> Mistake:
    """Return a mistake on the command line, or in files that it names."""
    return Mistake(command, facts, status, **rest)


def with_evidence(**evidence: object) -> dict:
    return MOON | {"id": "q9", "evidence": [{"doc": "moon.md", **evidence}]}


CONFIGURATION = {
    "key_misspelt": wrong("retreive", "did you mean 'retrieve'", retreive=5),
    "key_of_a_part_misspelt": wrong("context.chunk", "'chunks'", context={"chunk": 2}),
    "chunker_misspelt": wrong("chunkers[0]", "'sentense'", "'sentence'", chunkers=["sentense"]),
    "model_in_the_place_of_an_embedder": wrong(
        "embedders[0]: 'sentence-transformers/all-MiniLM-L6-v2' is the name of a model",
        "write {sentence_transformer: {model: sentence-transformers/all-MiniLM-L6-v2}}",
        embedders=["sentence-transformers/all-MiniLM-L6-v2"],
    ),
    "metric_twice_in_other_letter_case": wrong(
        "metrics[1]", "'ndcg@2' is the same metric", metrics=["NDCG@2", "ndcg@2"]
    ),
    "metric_that_cannot_compare_chunkers_beside_one_that_can": wrong(
        "decide_by: 'recall@2' counts each index's own chunks", "name one of: passage_recall@2",
        chunkers=["sentence", "whole"], metrics=["recall@2", "passage_recall@2"],
    ),
    "chunker_of_ones_own_without_split": wrong(
        "chunkers[0]", "'chunker_of_this_test:Nothing'", "it has no 'split', nor 'split_document'",
        chunkers=["chunker_of_this_test:Nothing"],
        files={
            "chunker_of_this_test.py": "from harness.protocols import Chunker\n"
            "class Nothing(Chunker):\n    name, version = 'nothing', 1\n"
        },
    ),
    "retriever_misspelt": wrong("'bm52'", "did you mean 'bm25'", retrievers=["bm52"]),
    "generator_unknown": wrong("'oracle'", "chat, extractive, none", generators=["oracle"]),
    "parameter_misspelt": wrong("'sise'", "'size'", chunkers=[{"fixed": {"sise": 9}}]),
    "metric_misspelt": wrong("'recal'", "'recall'", metrics=["recal@2"]),
    "metric_option_misspelt": wrong("'smooth'", "smoothing", metrics=["bleu(smooth=1)"]),
    "corpus_format_misspelt": wrong("'foldr'", "'folder'", corpus={"foldr": "corpus"}),
    "number_is_a_word": wrong("retrieve", "'many'", retrieve="many"),
    "number_out_of_range": wrong("margin", "1.5", margin=1.5),
    "label_kind_unknown": wrong("labels", "'answers'", labels="answers"),
    "parameter_of_the_wrong_type": wrong("'big'", chunkers=[{"fixed": {"size": "big"}}]),
    "parameters_that_do_not_fit": wrong(
        "overlap (300)", "size (200)", chunkers=[{"fixed": {"size": 200, "overlap": 300}}]
    ),
    "component_named_twice": wrong("retrievers[1]", "'dense'", retrievers=["dense", "dense"]),
    "cutoff_missing": wrong("'precision'", "@5", metrics=["precision"]),
    "cutoff_of_0": wrong("'recall'", "greater than 0", metrics=["recall@0"]),
    "cutoff_beyond_retrieve": wrong("'recall@9'", "9", "4", metrics=["recall@9"]),
    "context_beyond_retrieve": wrong("context.chunks", "5", "4", context={"chunks": 5}),
    "metric_without_an_answer": wrong(
        "'bleu'", "generator", generators=["none"], metrics=["recall@2", "bleu"]
    ),
    "metric_that_sees_own_chunks_decides": wrong(
        "decide_by", "'recall@2'", chunkers=["sentence", "whole"], metrics=["recall@2"]
    ),
    "judge_missing": wrong("'faithfulness'", "judge:", metrics=["faithfulness"]),
    "chat_missing": wrong("'chat'", "chat:", generators=["chat"]),
    "chat_provider_missing": wrong("'gpt-4o'", generators=["chat"], chat="gpt-4o"),
    "chat_provider_unknown": wrong("'opnai", generators=["chat"], chat="opnai:gpt-4o"),
    "chat_file_missing": wrong("m.gguf", generators=["chat"], chat="gguf:m.gguf"),
    "chat_key_misspelt": wrong(
        "'tokens'", "'max_tokens'", judge={"model": "openai:gpt", "tokens": 9}
    ),
    "secret_in_the_file": wrong(
        "api_key", generators=["chat"], chat={**CHAT, "api_key": "sk-do-not-print"}
    ),
    "secret_in_the_query_of_base_url": wrong(
        "chat", "base_url: 'api-key' is a secret", generators=["chat"],
        chat={**CHAT, "base_url": "http://127.0.0.1:9/v1?api-key=sk-do-not-print"},
    ),
    "secret_in_the_query_of_the_judges_url": wrong(
        "judge", "'sig' is a secret", metrics=["faithfulness"],
        judge={**CHAT, "base_url": "http://127.0.0.1:9/v1?sig=sk-do-not-print"},
    ),
    "secret_in_the_query_of_a_system": wrong(
        "system[0]", "url: 'api-key' is a secret", **SYSTEM,
        system={"http": {"url": "http://127.0.0.1:9/?api-key=sk-do-not-print", **TOLD}},
    ),
    "secret_in_the_query_of_a_variable": replace(
        wrong("OPENAI_BASE_URL", "'key' is a secret", generators=["chat"], chat="openai:gpt-test"),
        environment={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1?key=sk-do-not-print"},
    ),
    "secret_in_default_headers": wrong(
        "embedders[0]", "'X-Session' is a secret", "${X_SESSION}",
        embedders=[embedding_class(default_headers={"X-Session": "sk-do-not-print"})],
    ),
    "secret_in_default_query": wrong(
        "embedders[0]", "'code' is a secret", "${CODE}",
        embedders=[embedding_class(default_query={"code": "sk-do-not-print"})],
    ),
    "secret_in_the_query_of_an_argument": wrong(
        "embedders[0]", "base_url: 'subscription-key' is a secret",
        embedders=[embedding_class(base_url="http://127.0.0.1:9?subscription-key=sk-do-not-print")],
    ),
    "variable_of_a_header_not_set": replace(
        wrong(
            "OUR_TOKEN is not set",
            embedders=[embedding_class(default_headers={"Authorization": "Bearer ${OUR_TOKEN}"})],
        ),
        environment={"OUR_KEY": "sk-do-not-print"},
    ),
    "variable_of_a_key_misspelt": replace(
        wrong("HARNESS_RETREIVE", "did you mean HARNESS_RETRIEVE?"),
        environment={"HARNESS_RETREIVE": "5"},
    ),
    "several_at_once": wrong(
        "line 3, seeed", "line 4, retrieve", "line 6, chunkers[0]", "line 8, chunkers[2]",
        "line 9, metrics[0]", "line 10, metrics[1]", "line 1, corpus",
        files={
            "config.yaml": "corpus: nowhere\ntestset: testset.jsonl\nseeed: 4\nretrieve: many\n"
            "chunkers:\n  - fixed: {size: [100, 200], overlap: 150}\n  - whole\n  - fixd\n"
            "metrics: [recal@5,\n  ndcg@0]\n"
        },
    ),
    "configuration_and_test_set_at_once": wrong(
        "retreive", "metrics[0]: 'passage_recall@2' needs evidence", "metrics[1]: unknown metric",
        retreive=5, metrics=["passage_recall@2", "recal@2"],
        files={"testset.jsonl": '{"question": "How far?", "documents": {"moon.md": 1}}\n'},
    ),
    "configuration_and_lines_at_once": wrong(
        "config.yaml is not a valid", "retreive", "testset.jsonl, line 1: is not JSON",
        "testset.jsonl, line 2", "'mon.md'", retreive=5,
        files={"testset.jsonl": '{\n{"question": "How far?", "documents": {"mon.md": 1}}\n'},
    ),
    "corpus_missing_and_lines_at_once": wrong(
        "corpus: 'nowhere'", "testset.jsonl, line 1: is not JSON", corpus="nowhere",
        files={"testset.jsonl": '{\n{"question": "How far?", "documents": {"moon.md": 1}}\n'},
    ),
    "corpus_missing": wrong("corpus", "'nowhere'", corpus="nowhere"),
    "testset_missing": wrong("testset", "'nowhere.jsonl'", testset="nowhere.jsonl"),
    "testset_of_an_unknown_form": wrong("notes.docx", testset="notes.docx"),
    "keys_required": wrong("corpus", "testset", files={"config.yaml": "seed: 3\n"}),
    "variable_not_set": wrong("NOWHERE", corpus="${NOWHERE}/corpus"),
    "prompt_file_missing": wrong(
        "prompt.txt", generators=[{"chat": {"prompt": "prompt.txt"}}], chat=CHAT
    ),
    "yaml_broken": wrong("line 2, column 8", files={"config.yaml": "corpus: [a\ntestset: b"}),
    "yaml_of_no_keys": wrong("list", files={"config.yaml": "- corpus\n- testset\n"}),
    "yaml_not_utf8": wrong("UTF-8", files={"config.yaml": b"corpus: caf\xe9\n"}),
    "yaml_empty": wrong("config.yaml", files={"config.yaml": ""}),
    "yaml_key_twice": wrong("'seed'", files={"config.yaml": "seed: 1\nseed: 2\n"}),
    "yaml_of_other_objects": wrong(
        "config.yaml", files={"config.yaml": "corpus: !!python/object/apply:os.getcwd []\n"}
    ),
    "prices_missing": wrong("'nowhere.yaml'", prices="nowhere.yaml"),
    "prices_wrong": wrong(
        "prices.yaml, line 1", "'curency'", "'currency'", "line 2, models.gpt.outptu",
        "line 2, models.gpt: 'gpt' names no provider",
        prices="prices.yaml",
        files={"prices.yaml": "curency: EUR\nmodels: {gpt: {input: -1, outptu: 2}}\n"},
    ),
    "gate_metric_not_in_the_run": wrong(
        "'ndcg@2'", gate=RULES | {"fail_if": [{"metric": "ndcg@2", "drop_more_than": 0.1}]}
    ),
    "gate_rule_without_a_bound": wrong(
        "gate", gate={"baseline": "main", "fail_if": [{"metric": "token_f1"}]}
    ),
    "gate_without_rules": wrong("gate", gate={}),
    "baseline_names_no_cell": wrong("baseline", "sentence × hash", baseline={"retriever": "bm25"}),
    "target_of_an_unknown_metric": wrong("targets", "'ndcg@2'", targets={"ndcg@2": 0.5}),
    "model_folder_is_none": wrong(
        "'corpus'", embedders=[{"sentence_transformer": {"model": "corpus"}}]
    ),
    "output_below_a_file": wrong("'config.yaml/out'", output="config.yaml/out"),
    "traffic_missing": wrong(
        "'asked.txt'", traffic="asked.txt", command="validate config.yaml --deep"
    ),
    "system_module_missing": wrong(
        "no_such_module_of_mine", system={"python": "no_such_module_of_mine:ask"}, **SYSTEM
    ),
    "system_function_missing": wrong(
        "app_of_this_test", "'aks'", system={"python": "app_of_this_test:aks"}, **SYSTEM,
        files={"app_of_this_test.py": "def ask(question):\n    return [], ''\n"},
    ),
    "system_beside_a_grid": wrong("system", system={"python": "app:ask"}),
    "system_address_of_no_web": wrong(
        "url", "http://", **SYSTEM,
        system={"http": {"url": "ftp://a.example/ask", "response": {"answer": "$.a"}}},
    ),
}  # fmt: skip
DATA = {
    "question_twice": questions("line 2", "'q1'", "line 1", rows=(MOON, MARS | {"id": "q1"})),
    "question_missing": questions("line 1", "question", rows=({"answers": ["x"]},)),
    "question_line_is_no_json": questions("line 2", "JSON", rows=(MOON, '{"question": "x"')),
    "question_line_is_a_list": questions("line 2", "list", rows=(MOON, "[1]")),
    "question_key_misspelt": questions(
        "line 1", "'evidense'", "did you mean 'evidence'", rows=(MOON | {"evidense": []},)
    ),
    "question_of_the_wrong_type": questions(
        "line 2", "documents.moon.md", rows=(MARS, MOON | {"documents": {"moon.md": "high"}})
    ),
    "evidence_not_in_the_document": questions(
        "line 2", "'The Moon is made of cheese.'", "'moon.md'",
        rows=(MOON, with_evidence(quote="The Moon is made of cheese.")),
    ),
    "evidence_in_no_document": questions(
        "line 1", "'mon.md'", "'moon.md'",
        rows=(MOON | {"evidence": [{"doc": "mon.md", "quote": "air"}]},),
    ),
    "evidence_beyond_the_end": questions(
        "line 1", "'moon.md'", "70-900", "78", rows=(with_evidence(start=70, end=900),)
    ),
    "label_for_no_document": questions(
        "line 1", "'mon.md'", "'moon.md'", rows=(MOON | {"documents": {"mon.md": 2}},)
    ),
    "nul_in_paths": wrong(
        "output",
        "cache",
        "gate.baseline",
        "NUL",
        output="a\0b",
        cache="a\0b",
        gate={"baseline": "x\0y.json", "min": {"recall@2": 0.5}},
    ),
    "keyword_nowhere": wrong(
        "'q1'",
        "'cheese'",
        files={"testset.jsonl": json.dumps(MOON | {"keywords": ["cheese"]})},
        labels="keywords",
        metrics=["recall@2"],
    ),
    "unanswerable_with_an_answer": questions(
        "line 1", "answerable", rows=(HAMLET | {"answer": "Shakespeare"},)
    ),
    "metric_without_its_label": questions(
        "'passage_recall@2'", "evidence", rows=({"question": "How far?", "answer": "far"},)
    ),
    "testset_empty": questions("testset.jsonl", rows=()),
    "several_lines_at_once": questions(
        "line 1", "line 3", "line 4", rows=("{", MOON, MOON, HAMLET | {"answer": "x"})
    ),
    "corpus_empty": wrong("corpus", files={"corpus/moon.md": None, "corpus/mars.md": None}),
    "document_not_utf8": wrong("moon.md", "0xe9", "offset 3", files={"corpus/moon.md": b"caf\xe9"}),
    "document_and_questions_at_once": wrong(
        "moon.md: is not UTF-8", "testset.jsonl, line 1: is not JSON", "line 3", "not in document",
        files={
            "corpus/moon.md": b"caf\xe9",
            "testset.jsonl": '{\n{"question": "How far?", "documents": {"moon.md": 1}}\n'
            '{"question": "How?", "evidence": [{"doc": "mars.md", "quote": "no such words"}]}\n',
        },
    ),
    "number_beyond_all_numbers": wrong(
        "line 3: 1e400 is out of range", corpus={"squad": "squad.json"},
        files={"squad.json": '{"version": "2",\n"data": [],\n"more": 1e400}\n'},
    ),
    "document_ids_twice": wrong(
        "line 2", "'a'", "line 1", corpus="corpus.jsonl",
        files={"corpus.jsonl": '{"id": "a", "text": "one"}\n{"id": "a", "text": "two"}\n'},
    ),
    "document_that_is_no_pdf": wrong("paper.pdf", files={"corpus/paper.pdf": b"no PDF at all"}),
}  # fmt: skip
