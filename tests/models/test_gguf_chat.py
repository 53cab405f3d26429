"""Local chat models: GGUF files run in this process."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from importlib import metadata
from pathlib import Path

import pytest

from harness.errors import HarnessError, MissingExtra, ModelError, StageError
from harness.models.chat import ChatModel, gguf_chat
from tests.support.tiny_gguf import write

xllamacpp = pytest.importorskip("xllamacpp")


MODELS = os.environ.get("HARNESS_TEST_MODELS")


SMALL = "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


LONG = """
import signal, sys
from harness.models.chat import ChatModel

signal.signal(signal.SIGINT, signal.default_int_handler)
chat = ChatModel("gguf:" + sys.argv[1], max_tokens=10**9, window=1 << 17)
chat.check()
print("asking", flush=True)
chat.ask("hello")
"""


LEFT = """
import sys, time
from contextlib import suppress
from threading import Thread
from harness.models.chat import ChatModel
from harness.errors import StageError

def ask():
    with suppress(StageError):
        chat.ask("hello")

chat = ChatModel("gguf:" + sys.argv[1], max_tokens=10**9, window=1 << 17)
chat.check()
for _ in range(3):
    Thread(target=ask, daemon=True).start()
time.sleep(0.2)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Write a model."""
    return write(tmp_path_factory.mktemp("models") / "tiny.gguf")


def tiny(file, **settings):
    return ChatModel(f"gguf:{file}", **{"max_tokens": 20, "seed": 7, **settings})


def why(error, chat, prompt="hello"):
    """Return the message with which a model is refused, or a prompt fails."""
    with pytest.raises(error) as raised:
        chat.ask(prompt)
    return str(raised.value)


def test_a_reply_has_the_models_own_count_of_tokens_its_file_and_why_it_stopped(file):
    reply = tiny(file).ask("hello")
    assert re.fullmatch("[a-z]{20}", reply.text)
    # A token each for the beginning and the letters, and three for the space put before them.
    assert (reply.tokens_in, reply.tokens_out) == (1 + 3 + 5, 20)
    assert (reply.model, reply.finish) == ("tiny.gguf", "length")


def test_at_temperature_zero_a_prompt_gets_one_reply_whatever_was_asked_before(file):
    first = {prompt: tiny(file).ask(prompt) for prompt in ("hello", "help", "hello you", "ünï 🌙")}
    assert len({reply.text for reply in first.values()}) == 4
    for prompt in reversed(first):
        assert tiny(file, seed=8).ask(prompt) == first[prompt]


def test_above_it_the_seed_decides_and_a_sample_is_the_seed_that_many_further_on(file):
    said = {n: tiny(file, temperature=1.0, seed=n).ask("hello").text for n in (7, 8, 9, -1, 2**40)}
    assert len(set(said.values())) == 5
    assert [tiny(file, temperature=1.0).ask("hello", n).text for n in (0, 1, 2)] == [
        said[7],
        said[8],
        said[9],
    ]
    assert {tiny(file, temperature=1.0, seed=-1).ask("hello").text for _ in "abc"} == {said[-1]}


def test_a_prompt_longer_than_the_window_is_a_failure_and_never_cut(file):
    assert why(StageError, tiny(file, window=256), "h" * 300) == (
        "chat model 'gguf:tiny.gguf' failed: the prompt has 304 tokens, and the window 256; "
        "set a larger `window`, or send less context"
    )
    assert tiny(file, window=512).ask("h" * 300).tokens_in == 304


def test_its_identity_is_what_the_file_holds_and_not_its_place(file, tmp_path):
    moved = shutil.copy(file, tmp_path / "renamed.gguf")
    other = write(tmp_path / "other.gguf", seed=8)
    about = tiny(file).identity()
    assert about["model"].startswith("sha256:")
    assert about["xllamacpp"] == metadata.version("xllamacpp")
    assert tiny(moved, window=512, concurrent=1).identity() == about
    assert tiny(other).identity()["model"] != about["model"]
    write(other, seed=7)
    assert tiny(other).identity() == about
    assert tiny(file, temperature=1.0).identity() != about


def test_a_file_that_cannot_be_a_model_is_refused_by_the_check(file, tmp_path):
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(file.read_bytes()[:50_000])
    bare = tmp_path / "bare.gguf"
    bare.write_bytes(b"GGUF")
    text = tmp_path / "text.gguf"
    text.write_bytes(b"hello")
    told = {
        tmp_path / "none.gguf": "cannot be read: No such file or directory",
        tmp_path: "cannot be read: Is a directory",
        "": "cannot be read: ",
        "a\0b": "cannot be read: ",
        text: "text.gguf' is not a GGUF file",
        bare: "'gguf:bare.gguf' cannot be opened by xllamacpp: is the file whole",
        cut: "'gguf:cut.gguf' cannot be opened by xllamacpp: is the file whole",
    }
    for path, what in told.items():
        with pytest.raises(ModelError) as raised:
            tiny(path).check()
        assert what in str(raised.value)
    tiny(file).check()


def test_without_the_library_it_says_what_to_install(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    gguf_chat._open.cache_clear()
    with pytest.raises(MissingExtra, match=r"pip install 'xllamacpp>=2026\.10'"):
        tiny(file).check()


def test_nobody_else_on_the_machine_can_ask_the_model(file):
    tiny(file).check()
    address = gguf_chat._open(file, tiny(file).window).listening_address
    body = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()
    with pytest.raises(urllib.error.HTTPError, match="401") as raised:
        urllib.request.urlopen(f"{address}/v1/chat/completions", body, timeout=5)
    raised.value.close()


def test_an_interrupt_ends_a_long_reply_at_once_and_the_process_without_a_crash(tmp_path):
    file = write(tmp_path / "long.gguf", context=1 << 20)
    with subprocess.Popen(
        [sys.executable, "-c", LONG, file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "asking\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT
        assert process.stderr.read().endswith("KeyboardInterrupt\n")


def test_a_process_that_ends_waits_for_no_long_reply_and_does_not_crash(tmp_path):
    file = write(tmp_path / "long.gguf", context=1 << 20)
    ended = subprocess.run(
        [sys.executable, "-c", LEFT, file], capture_output=True, text=True, timeout=20
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_real_server_of_the_same_model_gives_the_same_reply_over_http(file, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = xllamacpp.CommonParams()
    settings.model.path = str(file)
    settings.n_ctx, settings.n_parallel, settings.port, settings.verbosity = 512, 1, 0, -1
    settings.warmup = False
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    serving = xllamacpp.Server(settings)
    url = f"{serving.listening_address}/v1"
    for temperature in (0.0, 1.0):
        options = {"temperature": temperature, "max_tokens": 20, "seed": 7}
        there = ChatModel("openai:tiny", url, **options).ask("hello", 2)
        here = ChatModel(f"gguf:{file}", **options).ask("hello", 2)
        assert (there.text, there.tokens_in, there.tokens_out, there.finish) == (
            here.text,
            here.tokens_in,
            here.tokens_out,
            here.finish,
        )
    why_long = why(StageError, ChatModel("openai:tiny", url, retries=0), "h" * 999)
    assert "exceeds the available context size" in why_long


def test_a_run_answers_with_a_local_model_and_stores_no_place_of_the_machine(file, project, cli):
    shutil.copy(file, "tiny.gguf")
    project.config(generators=["chat"], chat={"model": "gguf:tiny.gguf", "max_tokens": 20})
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    (folder,) = [path for path in (project.folder / "reports").iterdir() if path.is_dir()]
    lines = (folder / "records.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert all(re.fullmatch("[a-z]{20}", record["answer"]) for record in records)
    assert {record["usage"]["tokens_out"] for record in records} == {20}
    stored = "".join(path.read_text("utf-8") for path in folder.iterdir() if path.is_file())
    assert str(project.folder) not in stored


@pytest.mark.slow
def test_a_published_model_answers_a_question_and_says_the_same_again():
    if not MODELS:
        pytest.skip("HARNESS_TEST_MODELS is not set: it names the folder of smollm2")
    chat = ChatModel(f"gguf:{Path(MODELS) / SMALL}", max_tokens=16, seed=7)
    asked = "What is the capital of France? Answer with one word."
    first = chat.ask(asked)
    chat.ask("What is the capital of Italy? Answer with one word.")
    assert "Paris" in first.text
    assert first.finish == "stop"
    assert chat.ask(asked) == first
    with pytest.raises(HarnessError, match="the prompt has"):
        chat.ask("word " * 5000)
