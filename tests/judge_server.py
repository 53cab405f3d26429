"""A judge on this machine: an OpenAI chat server whose verdicts are what a function says."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness.chat import ChatModel
from tests.chat_server import completion


@dataclass
class Bench:
    """The prompts that were judged, and `says`, which makes a reply of a prompt; None is a 400."""

    url: str = ""
    says: object = None
    asked: list = field(default_factory=list)
    seeds: list = field(default_factory=list)

    def judge(self, **parameters):
        settings = {"base_url": self.url, "retries": 0, "seed": 7, **parameters}
        return ChatModel("openai:judge", **settings)

    def settings(self):
        """Return the judge as a configuration has it."""
        return {"model": "openai:judge", "base_url": self.url, "retries": 0}


def best(prompt):
    """Return the best verdict there is."""
    return "yes\nIt says so." if "<statement>" in prompt else "3\nIt is all there."


def part(prompt, name):
    """Return what stands between the tags of one name."""
    return re.search(rf"<{name}>\n(.*?)\n</{name}>", prompt, re.DOTALL)[1]


@contextmanager
def sitting(says=best) -> Iterator[Bench]:
    bench = Bench(says=says)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][-1]["content"]
            bench.asked.append(prompt)
            bench.seeds.append(body.get("seed"))
            said = bench.says(prompt)
            refused = {"error": {"message": "no such judge"}}
            content = json.dumps(refused if said is None else completion(said)).encode()
            self.send_response(400 if said is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        bench.url = f"http://127.0.0.1:{listening.server_port}/v1"
        try:
            yield bench
        finally:
            listening.shutdown()
            thread.join()
