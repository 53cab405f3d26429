"""The chunker `token`: windows of so many tokens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from harness.chunkers import chunkers
from harness.config.grid import fit_to_embedder
from harness.embedders import embedders
from harness.errors import ModelError
from harness.models import model_files as harness_models
from harness.models.model_files import DEFAULT_MODEL, locate, token_starts


def build(**parameters):
    return chunkers.build({"token": parameters})


def texts(text, **parameters):
    return [text[start:end] for start, end in build(**parameters).split(text)]


@pytest.fixture(scope="module")
def bytewise(tmp_path_factory):
    """Return the folder of a tokenizer that has a token for each byte, and no longer one."""
    folder = tmp_path_factory.mktemp("bytewise")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({char: at for at, char in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    return str(folder)


@pytest.fixture(scope="module")
def encode():
    tokenizer = Tokenizer.from_file(str(locate(DEFAULT_MODEL) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: tokenizer.encode(text, add_special_tokens=False)


def test_without_a_tokenizer_words_and_marks_are_counted():
    text = "One, two three. Four five six seven."
    assert texts(text, size=4) == ["One, two three", ". Four five six", "seven."]
    assert texts(text, size=4, overlap=2) == [
        "One, two three",
        "two three. Four",
        ". Four five six",
        "five six seven.",
    ]


def test_a_window_reaches_to_the_next_one_s_first_token():
    text = "\u200ba\u200b b\x00\x00 c"
    assert token_starts(DEFAULT_MODEL)(text) == [1, 4, 8]
    found = ["\u200ba\u200b", "b\x00\x00", "c"]
    assert texts(text, size=1, tokenizer=DEFAULT_MODEL) == found
    assert texts("\u200b\x00", size=1, tokenizer=DEFAULT_MODEL) == ["\u200b\x00"]


def test_the_models_own_tokens_are_counted_and_no_special_ones(encode):
    text = "Insurellm's policyholders"
    found = encode(text)
    assert found.tokens == ["ins", "##ure", "##ll", "##m", "'", "s", "policy", "##holders"]
    assert texts(text, size=4, tokenizer=DEFAULT_MODEL) == ["Insurellm", "'s policyholders"]
    assert texts(text, size=3, tokenizer=DEFAULT_MODEL) == ["Insurell", "m's", "policyholders"]


def test_no_character_is_cut_in_two_however_many_tokens_it_has(bytewise):
    assert token_starts(bytewise)("aé月x") == [0, 1, 1, 2, 2, 2, 3]
    assert texts("aé月x", size=3, tokenizer=bytewise) == ["aé", "月", "x"]
    assert texts("aé月x", size=4, tokenizer=bytewise) == ["aé", "月x"]
    assert texts("aé月x", size=1, tokenizer=bytewise) == ["a", "é", "月", "x"]
    assert texts("aé月x", size=4, overlap=1, tokenizer=bytewise) == ["aé", "月x"]
    assert texts("aé月x", size=4, overlap=2, tokenizer=bytewise) == ["aé", "月x"]


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(text=st.text(alphabet="aé\u0301\u0323\u200b\x00 .月\U0001f469\u200d\ufe0f", max_size=40))
def test_a_tokenizer_that_drops_characters_loses_none_of_the_text(text):
    spans = list(build(size=2, tokenizer=DEFAULT_MODEL).split(text))
    assert {at for span in spans for at in range(*span)} >= {
        at for at, char in enumerate(text) if not char.isspace()
    }
    assert spans == sorted(spans)


def test_a_long_text_has_the_same_tokens_at_the_same_places_as_in_one_go(encode):
    text = "The moon is far away, and 384,400 km is not near.\n" * 12_000
    assert len(text) > 2 * harness_models._SECTION_CHARS
    assert token_starts(DEFAULT_MODEL)(text) == [start for start, _ in encode(text).offsets]


def test_the_tokenizer_of_the_cell_s_embedder_is_taken_where_none_is_named():
    bare = build(size=5)
    assert fit_to_embedder(bare, embedders.build("sentence_transformer")).tokenizer == DEFAULT_MODEL
    assert fit_to_embedder(bare, embedders.build("hashing")) == bare
    named = build(size=5, tokenizer="my/own")
    assert fit_to_embedder(named, embedders.build("sentence_transformer")) == named


def test_a_model_without_a_tokenizer_is_refused_by_name(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        texts("a", tokenizer=str(tmp_path))
