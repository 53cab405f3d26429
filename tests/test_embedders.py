"""Embedders: one vector a text, whatever else is embedded with it and wherever."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from harness.embedders import embedders
from harness.errors import ModelError, SpecError

TEXTS = [
    "Insurellm was founded in 2015.",
    "Short",
    "A claim is paid within thirty days of the day on which all documents are there. " * 12,
    "Is the cat insured?",
    "保険",
    "",
]


@pytest.fixture(scope="module")
def minilm():
    return embedders.build("sentence_transformer")


@pytest.mark.slow
class TestMiniLM:
    def test_a_text_has_the_same_vector_whatever_its_batch_company(self, minilm):
        together = minilm.embed(TEXTS, "document")
        for at, text in enumerate(TEXTS):
            alone = minilm.embed([text], "document")[0]
            assert alone.tobytes() == together[at].tobytes()
        backwards = minilm.embed(TEXTS[::-1], "document")[::-1]
        assert backwards.tobytes() == together.tobytes()

    def test_vectors_are_float32_of_length_one(self, minilm):
        vectors = minilm.embed(TEXTS, "document")
        assert (vectors.shape, vectors.dtype) == ((6, 384), np.float32)
        assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-6)

    def test_embedding_twice_gives_the_same_bytes(self, minilm):
        first = minilm.embed(TEXTS, "document")
        assert minilm.embed(TEXTS, "document").tobytes() == first.tobytes()

    def test_vectors_are_those_of_the_library_used_by_itself(self, minilm):
        import torch
        from sentence_transformers import SentenceTransformer

        from harness.models.model_files import locate

        minilm = replace(minilm, precision="float32")
        model = SentenceTransformer(str(locate(minilm.model)), local_files_only=True)
        inputs = model.tokenize(TEXTS[:2])
        with torch.no_grad():
            states = (
                model[0]
                .auto_model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
                .last_hidden_state
            )
        mask = inputs["attention_mask"][..., None]
        means = ((states * mask).sum(1) / mask.sum(1)).numpy()
        expected = means / np.linalg.norm(means, axis=1, keepdims=True)
        assert minilm.embed(TEXTS[:2], "query") == pytest.approx(expected, abs=1e-5)

    def test_a_question_is_nearest_to_the_passage_that_answers_it(self, minilm):
        passages = ["Pets need a vet's form.", "The firm began in 2015.", "Cars are covered."]
        question = minilm.embed(["When was the company founded?"], "query")
        assert int(np.argmax(minilm.embed(passages, "document") @ question[0])) == 1

    def test_truncated_flags_the_texts_with_more_tokens_than_the_model_reads(self, minilm):
        # The model reads 256 tokens, two of which are its own marks.
        fits, over = "cat " * 254, "cat " * 255
        assert minilm.truncated([fits, over, over, ""]) == [False, True, True, False]
        read, unread = minilm.embed([fits, over], "document")
        assert unread == pytest.approx(read, abs=1e-6)

    def test_bfloat16_changes_the_vectors_a_little_and_its_identity(self, minilm):
        # Torch, as OpenVINO calculates in float32 where the processor has no bfloat16.
        spec = {"runtime": "torch", "precision": "bfloat16"}
        rough = embedders.build({"sentence_transformer": spec})
        vectors = rough.embed(TEXTS[:4], "document")
        cosines = (vectors * minilm.embed(TEXTS[:4], "document")).sum(axis=1)
        assert (vectors.dtype, bool((cosines > 0.999).all())) == (np.float32, True)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
        assert (cosines < 1 - 1e-7).any()
        assert rough.identity() != minilm.identity()

    def test_identity_and_description_name_what_runs_it(self):
        spec = {"runtime": "torch", "precision": "float32"}
        part = embedders.build({"sentence_transformer": spec})
        identity = part.identity()
        assert (identity["runtime"], identity["precision"]) == ("torch", "float32")
        assert part.kept
        assert part.describe() == {
            "runtime": "torch",
            "precision": "float32",
            "device": identity["device"],
        }

    def test_no_texts_have_no_vectors(self, minilm):
        assert len(minilm.embed([], "document")) == 0
        assert minilm.truncated([]) == []


class TestHashing:
    def test_vectors_do_not_depend_on_the_seed_of_pythons_own_hashes(self):
        code = (
            "import hashlib; from harness.embedders import embedders;"
            "v = embedders.build('hashing').embed(['The moon, the cat.', 'ä ö 保険'], 'query');"
            "print(hashlib.sha256(v.tobytes()).hexdigest())"
        )
        seen = [
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for seed in ("0", "4242")
        ]
        here = embedders.build("hashing").embed(["The moon, the cat.", "ä ö 保険"], "query")
        assert seen == [hashlib.sha256(here.tobytes()).hexdigest()] * 2

    def test_a_text_has_the_same_vector_whatever_its_batch_company(self):
        hashing = embedders.build("hashing")
        together = hashing.embed(TEXTS, "document")
        for at, text in enumerate(TEXTS):
            assert hashing.embed([text], "query")[0].tobytes() == together[at].tobytes()

    def test_each_word_adds_the_root_of_its_count_at_the_place_its_hash_names(self):
        expected = np.zeros(50)
        for word, times in {"the": 2, "moon": 1, ".": 1}.items():
            code = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            expected[(code >> 1) % 50] += np.sqrt(times) * (1 if code % 2 else -1)
        expected /= np.linalg.norm(expected)
        hashing = embedders.build({"hashing": {"dimensions": 50}})
        assert hashing.embed(["The the MOON."], "query")[0] == pytest.approx(expected, abs=1e-6)

    def test_word_order_and_letter_case_do_not_matter_and_words_do(self):
        one, same, other = embedders.build("hashing").embed(
            ["moon and mars", "Mars AND moon", "sun and mars"], "document"
        )
        assert one.tobytes() == same.tobytes()
        assert 0 < float(one @ other) < 0.99

    @pytest.mark.parametrize("text", ["", " \n"])
    def test_a_text_without_words_is_the_first_axis(self, text):
        (vector,) = embedders.build({"hashing": {"dimensions": 3}}).embed([text], "query")
        assert vector.tolist() == [1.0, 0.0, 0.0]

    def test_it_reads_every_word_and_has_no_tokenizer(self):
        hashing = embedders.build("hashing")
        assert hashing.truncated(["word " * 10_000, ""]) == [False, False]
        assert hashing.tokenizer is None
        assert hashing.floor
        assert not hashing.kept
        assert hashing.describe() == {}

    def test_a_word_that_is_no_longer_remembered_has_the_same_place(self, monkeypatch):
        one = embedders.build("hashing").embed(["moon and mars"], "query")
        module = sys.modules["harness.embedders.hashing"]
        monkeypatch.setattr(module, "_code", lru_cache(maxsize=1)(module._code.__wrapped__))
        assert embedders.build("hashing").embed(["moon and mars"], "query").tobytes() == (
            one.tobytes()
        )


def test_a_folder_that_is_no_model_is_refused_by_name(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    broken = embedders.build({"sentence_transformer": {"model": str(tmp_path)}})
    with pytest.raises(ModelError, match="cannot be loaded"):
        broken.embed(["a"], "document")


def test_an_unknown_runtime_is_refused_with_the_choices():
    with pytest.raises(SpecError, match="'auto', 'torch' or 'openvino', not 'onnx'"):
        embedders.build({"sentence_transformer": {"runtime": "onnx"}})


def test_an_unknown_precision_is_refused_with_the_choices():
    with pytest.raises(SpecError, match="'auto', 'float32' or 'bfloat16', not 'int8'"):
        embedders.build({"sentence_transformer": {"precision": "int8"}})
