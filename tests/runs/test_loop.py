"""How many calls of a chat model run at once changes nothing that is stored but the times."""

import hashlib
import json
import time

from harness.store.outcome_file import OUTCOME_FORMAT
from tests.support.chat_server import completion
from tests.support.kills import TIMES
from tests.support.loopback import Handler, listening
from tests.support.small import QUESTIONS, stored

ASKED = [
    {**each, "id": f"{each['id']}-{at}", "question": f"{each['question']} ({at})"}
    for at in range(3)
    for each in QUESTIONS
]
REFUSED = "How old must riders be? (1)"


class ByPrompt(Handler):
    """Says what only the prompt decides, after a time that it decides too; refuses one question."""

    def do_POST(self):
        prompt = self.body()["messages"][-1]["content"]
        digest = hashlib.sha256(prompt.encode()).hexdigest()
        time.sleep(int(digest[:2], 16) / 16_000)
        if REFUSED in prompt:
            self.send(400, json.dumps({"error": {"message": "refused"}}).encode())
        else:
            self.send(200, json.dumps(completion(f"It is {digest[:6]}.")).encode())


def records(folder, url, concurrent):
    """Run the project with so many calls at once; return its records without times and names."""
    model = {"model": "openai:m", "base_url": url, "concurrent": concurrent, "retries": 0}
    run = stored(
        folder,
        questions=ASKED,
        chunkers=["markdown"],
        retrievers=["bm25", "dense"],
        generators=[{"chat": model}],
        max_failures=10,
    )
    aside = (*TIMES, "cell")
    lines = [OUTCOME_FORMAT.data(each) for each in run.records]
    sums = [
        (each.failed, each.scores, each.losses, each.spent.tokens_out) for each in run.run.cells
    ]
    return [{k: v for k, v in each.items() if k not in aside} for each in lines], sums


def test_eight_calls_at_once_give_the_records_of_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with listening(ByPrompt) as url:
        one, alone = records(tmp_path / "one", f"{url}/v1", 1)
        eight, together = records(tmp_path / "eight", f"{url}/v1", 8)

    assert [each["question"] for each in one] == [each["id"] for each in ASKED] * 2
    assert sum(each["error"] is not None for each in one) == 2
    assert len({each["answer"] for each in one}) > len(ASKED)
    assert eight == one
    assert together == alone
