"""Exit statuses of whole processes: 0 done, 2 wrong input, 3 could not finish, 130 interrupted."""

import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.loopback import Handler, listening

# A shell may have started the tests with interrupts ignored, which a child would inherit.
CODE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
CODE += "from harness.cli import main; main()"


def start(*arguments):
    """Start the command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENAI_API_KEY": "none"},
    )


def ended(process):
    """Return the exit status, stdout and stderr of a process, once it has ended."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.fixture
def model():
    """Start a chat model that answers 32 times and then keeps its caller waiting.

    Gives its address and an event that is set when somebody waits.
    """
    waiting, released = threading.Event(), threading.Event()
    asked = []

    class Answering(Handler):
        def do_POST(self):
            self.body()
            asked.append(self.path)
            if len(asked) > 32:
                waiting.set()
                released.wait(60)
                return
            message = {"role": "assistant", "content": "I don't know."}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
            self.send(200, json.dumps({**reply, "choices": [choice]}).encode())

    with listening(Answering) as url:
        try:
            yield f"{url}/v1", waiting
        finally:
            released.set()


def chatting(project, url, **changes):
    """Configure a run that asks a chat model about each question."""
    chat = {"model": "openai:m", "base_url": url, "retries": 0, "concurrent": 1}
    metrics = ["recall@2", "abstention"]
    project.config(generators=[{"chat": chat}], retrievers=["bm25"], metrics=metrics, **changes)


def stored(project):
    """Return the stored run, and its records."""
    (folder,) = project.folder.glob("reports/*/")
    run = json.loads((folder / "run.json").read_text("utf-8"))
    lines = (folder / "records.jsonl").read_text("utf-8").splitlines()
    return run, [json.loads(line) for line in lines]


def test_a_finished_run_ends_with_0(project):
    status, out, _ = ended(start("run", "config.yaml"))

    assert status == 0
    assert stored(project)[0]["status"] == "finished"
    assert "report: reports/" in out


def test_an_output_that_lacks_a_letter_gets_a_question_mark(project, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")

    status, out, err = ended(start("run", "config.yaml"))

    assert status == 0, err
    assert " ? hashing" in out
    assert "Traceback" not in err


def test_wrong_input_ends_with_2_and_one_message_on_stderr(project):
    project.config(retrieve=0)

    status, out, err = ended(start("run", "config.yaml"))

    assert (status, out) == (2, "")
    assert err == (
        "config.yaml is not a valid configuration:\n"
        "  line 12, retrieve: Input should be greater than 0, not 0\n"
    )


def test_a_run_that_cannot_finish_ends_with_3_and_keeps_what_was_done(project):
    # Nothing listens there: a port that was free a moment ago.
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        port = server.server_port
    chatting(project, f"http://127.0.0.1:{port}/v1", max_failures=2)

    status, out, err = ended(start("run", "config.yaml"))

    run, records = stored(project)
    assert (status, out) == (3, "")
    assert "Traceback" not in err
    *_, reason, remedy = err.splitlines()
    cell = run["cells"][0]["name"]
    assert reason.startswith(f"cell {cell}, question 'q3': chat model 'openai:m' failed: ")
    assert reason.endswith("ConnectionError: Connection error.")
    assert remedy.startswith("  3 of 3 questions failed, more than `max_failures: 2` allows")
    assert (run["status"], run["cells"][0]["failed"]) == ("failed", 3)
    assert [record["error"]["stage"] for record in records] == ["generation"] * 3


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_an_interrupted_run_ends_with_130_and_keeps_what_was_done(project, model, sent):
    url, waiting = model
    rows = [{"id": f"q{n}", "question": f"Moon {n}?", "documents": ["moon.md"]} for n in range(40)]
    project.testset(*rows)
    chatting(project, url)
    process = start("run", "config.yaml")

    assert waiting.wait(60)
    process.send_signal(sent)
    status, out, err = ended(process)

    run, records = stored(project)
    assert (status, out) == (130, "")
    said = "interrupted; the questions done are stored, and the same command continues"
    assert err.splitlines()[-1] == said
    assert "Traceback" not in err
    assert run["status"] == "interrupted"
    assert [record["question"] for record in records] == [f"q{n}" for n in range(32)]
    assert run["cells"][0]["scores"]["recall@2"]["n"] == 32
