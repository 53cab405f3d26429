"""What runs a model: kept between processes, chosen once, the same vectors in any company."""

import hashlib
import json
import os
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest

from harness.embedders import embedders
from harness.errors import MissingExtra, ModelError
from harness.models import runtime
from harness.models.model_files import DEFAULT_MODEL, locate
from harness.models.runtime import encoders, openvino, processor, sentence_models
from harness.models.runtime.encoders import Choice, choose
from harness.models.runtime.openvino import OpenVinoEncoder

USUAL = [{"type": f"sentence_transformers.models.{each}"} for each in ("Transformer", "Pooling")]


@pytest.fixture
def keep(tmp_path):
    """Keep in a folder of the test's own, and in none afterwards."""
    runtime.keep_in(tmp_path / "models")
    yield tmp_path / "models"
    runtime.keep_in(None)


@pytest.fixture
def model(tmp_path):
    """Return a folder that looks like a model of the usual kind, and cannot be loaded."""
    made = tmp_path / "model"
    made.mkdir()
    (made / "modules.json").write_text(json.dumps([{**each, "path": ""} for each in USUAL]))
    (made / "model.safetensors").write_bytes(b"weights")
    return str(made)


def needs_openvino():
    # Not `importorskip`: imported like that, the library sends messages of each conversion.
    if runtime.default_runtime() != "openvino":
        pytest.skip("openvino is not installed")


def write(content):
    return lambda path: (path / "file").write_bytes(content)


class TestFolder:
    def test_what_was_made_is_found_the_next_time(self, keep):
        with openvino.open_folder({"of": "one"}, write(b"content")) as folder:
            assert (folder / "file").read_bytes() == b"content"
        with openvino.open_folder({"of": "one"}, write(b"other")) as again:
            assert (again / "file").read_bytes() == b"content"
        assert again == folder
        assert folder.is_relative_to(keep)

    def test_what_fails_half_way_leaves_nothing(self, keep):
        def fail(path):
            (path / "file").write_bytes(b"half")
            raise ModelError("its vectors are others")

        with (
            pytest.raises(ModelError, match="its vectors are others"),
            openvino.open_folder({"of": "one"}, fail),
        ):
            pass
        assert list((keep / "models").iterdir()) == []


class TestChoice:
    """`auto`, by what is installed and by what the processor has; nothing is loaded."""

    @pytest.fixture(autouse=True)
    def on_a_processor(self, monkeypatch):
        monkeypatch.setattr(processor, "device", lambda: "cpu")

    @pytest.mark.parametrize("installed", ["openvino", "torch"])
    @pytest.mark.parametrize("has", [True, False])
    def test_auto_is_openvino_if_installed_and_bfloat16_if_the_processor_has_it(
        self, model, monkeypatch, installed, has
    ):
        monkeypatch.setattr(encoders, "default_runtime", lambda: installed)
        monkeypatch.setattr(processor, "has_bfloat16", lambda: has)
        numbers = "bfloat16" if has else "float32"
        assert choose(model, "auto", "auto") == Choice(installed, numbers, "cpu")
        assert choose(model, "torch", "auto") == Choice("torch", numbers, "cpu")

    def test_openvino_asked_for_and_not_installed_is_refused_with_the_command(
        self, monkeypatch, model
    ):
        monkeypatch.setattr(openvino, "default_runtime", lambda: "torch")
        with pytest.raises(MissingExtra, match=r"pip install 'openvino>=2026\.0'"):
            choose(model, "openvino", "float32")


TEXTS = (
    "The moon is far away and has no air.",
    "Is it?",
    "",
    "保険 🙂 ÉTÉ",
    "A claim is paid within thirty days of the day on which all documents are there.",
    "Pets need a form, signed by a vet, before the cover begins: none is given after that.",
    "Every word of this one is read, up to the limit. " * 60,
)


NUMBERS = ("float32", "bfloat16")


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """Return a folder that keeps the default model, converted."""
    needs_openvino()
    where = tmp_path_factory.mktemp("kept")
    runtime.keep_in(where)
    OpenVinoEncoder(DEFAULT_MODEL, "float32")
    runtime.keep_in(None)
    return where


@pytest.fixture(scope="module", params=[(r, n) for r in ("torch", "openvino") for n in NUMBERS])
def encoder(request):
    """Return the default model on each runtime, with each kind of numbers."""
    runs, numbers = request.param
    if runs == "openvino":
        runtime.keep_in(request.getfixturevalue("converted"))
    opened = encoders.open_encoder(DEFAULT_MODEL, Choice(runs, numbers, "cpu"))
    runtime.keep_in(None)
    return numbers, opened


@pytest.fixture(scope="module")
def expected():
    """Return the vectors that the library itself gives, by kind."""
    model = sentence_models.load(DEFAULT_MODEL)
    return {
        kind: sentence_models.encode_texts(model, TEXTS, kind) for kind in ("query", "document")
    }


@pytest.mark.slow
def test_a_vector_has_the_same_bytes_in_any_company_and_slot(encoder):
    _, opened = encoder
    alone = [opened.vectors([text], "document")[0].tobytes() for text in TEXTS]
    draw = np.random.default_rng(3)
    for size in (2, 40):
        picked = draw.integers(len(TEXTS), size=size)
        together = opened.vectors([TEXTS[n] for n in picked], "document")
        assert [row.tobytes() for row in together] == [alone[n] for n in picked]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["query", "document"])
def test_vectors_are_those_of_the_library(encoder, expected, kind):
    numbers, opened = encoder
    least = 0.999999 if numbers == "float32" else 0.999
    assert (sentence_models.cosines(opened.vectors(TEXTS, kind), expected[kind]) > least).all()


IN_A_PROCESS = """
import hashlib, sys
from pathlib import Path
from harness.models import runtime
from harness.embedders import embedders
runtime.keep_in(Path(sys.argv[1]))
part = embedders.build({"sentence_transformer": {"runtime": "openvino", "precision": "float32"}})
found = hashlib.sha256(part.embed(["The moon.", "Mars"], "query").tobytes()).hexdigest()
print(found, sum(part.truncated(["a", "b " * 300])), "torch" in sys.modules)
"""


@pytest.mark.slow
def test_a_kept_model_runs_without_torch_in_another_process_to_the_same_bytes(converted):
    spec = {"runtime": "openvino", "precision": "float32"}
    here = embedders.build({"sentence_transformer": spec}).embed(["The moon.", "Mars"], "query")
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS, str(converted)],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.split() == [hashlib.sha256(here.tobytes()).hexdigest(), "1", "False"]


class TestOtherModels:
    """Models made here: a tiny encoder, with prompts, other poolings and other modules."""

    @pytest.fixture
    def make(self, tmp_path_factory):
        """Return a function that saves a tiny model, and gives its folder."""
        torch = pytest.importorskip("torch")
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.base.modules import Dense, Transformer
        from sentence_transformers.sentence_transformer.modules import Pooling
        from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
        from tokenizers.models import WordLevel
        from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

        def call(pooling="mean", prompts=None, dense=False, limit=24, side="right", **pooled):
            torch.manual_seed(1)
            words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "moon", "mars", "query", ":", "is"]
            tokenizer = Tokenizer(
                WordLevel({word: at for at, word in enumerate(words)}, unk_token="[UNK]")
            )
            tokenizer.normalizer = normalizers.Lowercase()
            tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
            base = tmp_path_factory.mktemp("encoder")
            names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"}
            PreTrainedTokenizerFast(
                tokenizer_object=tokenizer, padding_side=side, sep_token="[SEP]", **names
            ).save_pretrained(base)
            sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
            config = BertConfig(vocab_size=10, intermediate_size=64, **sizes)
            BertModel(config).save_pretrained(base)
            encoder = Transformer(str(base), max_seq_length=limit)
            parts = [encoder, Pooling(32, pooling_mode=pooling, **pooled)]
            parts += [Dense(32, 16)] if dense else []
            where = tmp_path_factory.mktemp("model")
            SentenceTransformer(modules=parts, prompts=prompts, device="cpu").save(str(where))
            return str(where)

        return call

    PROMPTS: ClassVar = {"query": "query: ", "document": "the moon : "}
    ASKED = ("The Moon is", "mars", "the mars is the moon " * 9)

    @pytest.mark.slow
    @pytest.mark.parametrize("pooling", ["mean", "cls", "max", "mean_sqrt_len_tokens"])
    def test_prompts_limit_and_pooling_are_as_the_library_has_them_on_every_runtime(
        self, make, pooling
    ):
        needs_openvino()
        model = make(pooling, prompts=self.PROMPTS)
        there = sentence_models.load(model)
        for runs in ("torch", "openvino"):
            encoder = encoders.open_encoder(model, Choice(runs, "float32", "cpu"))
            for kind, encode in (
                ("query", there.encode_query),
                ("document", there.encode_document),
            ):
                expected = np.vstack([encode([text]) for text in self.ASKED])
                found = encoder.vectors(self.ASKED, kind, self.PROMPTS[kind])
                assert (sentence_models.cosines(found, expected) > 0.999999).all()
                without = np.vstack([encode([text], prompt="") for text in self.ASKED])
                found = encoder.vectors(self.ASKED, kind)
                assert (sentence_models.cosines(found, without) > 0.999999).all()
            # 24 tokens: two marks, three of the prompt, and nineteen words.
            prompt = self.PROMPTS["document"]
            assert encoder.truncated(["moon " * 19, "moon " * 20], prompt) == [False, True]
            assert encoder.truncated(["moon " * 22, "moon " * 23]) == [False, True]

    @pytest.mark.slow
    def test_a_further_module_is_left_to_torch(self, make):
        model = make(dense=True)
        assert not sentence_models.looks_usual(locate(model))
        assert choose(model, "auto", "float32").runtime == "torch"
        encoder = encoders.open_encoder(model, Choice("torch", "float32", "cpu"))
        assert isinstance(encoder, encoders.TorchEncoder)
        expected = sentence_models.encode_texts(sentence_models.load(model), self.ASKED, "query")
        assert encoder.vectors(self.ASKED, "query") == pytest.approx(expected, abs=1e-6)
        if runtime.default_runtime() == "openvino":
            with pytest.raises(ModelError, match="set runtime: torch in its embedder"):
                encoders.open_encoder(model, Choice("openvino", "float32", "cpu"))

    @pytest.mark.slow
    @pytest.mark.parametrize("unusual", [{"side": "left"}, {"include_prompt": False}])
    def test_what_reads_in_an_unusual_way_is_left_to_its_library(self, make, unusual):
        model = make(**unusual)
        encoder = encoders.open_encoder(model, Choice("torch", "float32", "cpu"))
        assert isinstance(encoder, encoders.TorchEncoder)
        alone = np.vstack([encoder.vectors([text], "query") for text in self.ASKED])
        assert encoder.vectors(self.ASKED, "query").tobytes() == alone.tobytes()
        assert encoder.truncated(["moon " * 5, "moon " * 40]) == [False, True]
        assert encoder.truncated(["moon " * 22, "moon " * 20], "query: ") == [True, False]
        expected = sentence_models.load(model).encode_query(list(self.ASKED[:1]), prompt="query: ")
        assert encoder.vectors(self.ASKED[:1], "query", "query: ") == pytest.approx(expected)
