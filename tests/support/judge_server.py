"""A judge on this machine: an OpenAI chat server whose verdicts are what a function says."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.models.chat import ChatModel
from tests.support.chat_server import completion
from tests.support.loopback import Handler, listening


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
    return "yes\nIt says so." if "\nStatement: " in prompt else "3\nIt is all there."


def part(prompt, name):
    """Return what stands behind the label of one name, up to the next label or the question."""
    material = prompt.rpartition("\n\n")[0]
    label = "(?:Answer|Context|Passage|Question|References|Statement|Text):"
    found = rf"^{name.capitalize()}:\s(.*?)(?=\n\n{label}\s|\Z)"
    return re.search(found, material, re.DOTALL | re.MULTILINE)[1]


@contextmanager
def sitting(says=best) -> Iterator[Bench]:
    bench = Bench(says=says)

    class Answering(Handler):
        def do_POST(self):
            body = self.body()
            prompt = body["messages"][-1]["content"]
            bench.asked.append(prompt)
            bench.seeds.append(body.get("seed"))
            said = bench.says(prompt)
            refused = {"error": {"message": "no such judge"}}
            reply = refused if said is None else completion(said)
            self.send(400 if said is None else 200, json.dumps(reply).encode())

    with listening(Answering) as url:
        bench.url = f"{url}/v1"
        yield bench
