"""Chat: a real HTTP server that speaks the OpenAI protocol, on this machine, answers."""

import json
import threading
from dataclasses import replace

import pytest

from harness.errors import HarnessError, SpecError, StageError
from harness.fingerprint import identity_of
from harness.generators import generators
from harness.models.chat import ChatModel
from harness.records import Answer
from harness.registry import label
from tests.asked_of import answered
from tests.chat_server import serving


@pytest.fixture
def server(monkeypatch):
    """Start a server for one test."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-this-test")
    with serving() as state:
        yield state


@pytest.fixture
def no_urls(monkeypatch):
    """Forget every server that the environment names."""
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_prompt_as_sent_holds_context_and_question_and_asks_at_temperature_zero(server):
    server.chat(max_tokens=99).answer("How far is the Moon?", "It is {far} away.\n\nNo air.")
    (asked,) = server.asked
    assert asked["path"] == "/v1/chat/completions"
    assert asked["key"] == "Bearer sk-for-this-test"
    assert asked["model"] == "gpt-test"
    assert asked["temperature"] == 0
    assert asked.get("max_completion_tokens", asked.get("max_tokens")) == 99
    assert asked["messages"] == [
        {
            "role": "user",
            "content": "Answer the question from the context alone, in one or two sentences.\n"
            "If the context does not hold the answer, say exactly: I don't know.\n\n"
            "Context:\nIt is {far} away.\n\nNo air.\n\nQuestion: How far is the Moon?\nAnswer:",
        }
    ]


def test_a_prompt_of_ones_own_is_filled_in_and_nothing_is_kept_between_questions(server):
    chat = server.chat(prompt="{question} | {context} | {{json}}", temperature=0.5)
    chat.answer("One?", "first")
    chat.answer("Two?", "")
    assert [asked["messages"] for asked in server.asked] == [
        [{"role": "user", "content": "One? | first | {json}"}],
        [{"role": "user", "content": "Two? |  | {json}"}],
    ]
    assert [asked["temperature"] for asked in server.asked] == [0.5, 0.5]


def test_the_answer_keeps_the_servers_count_of_tokens_its_model_and_why_it_stopped(server):
    server.replies = [(200, "  It is 384,400 km away.\n")]
    assert server.chat().answer("How far?", "context") == Answer(
        "It is 384,400 km away.",
        declined=False,
        tokens_in=57,
        tokens_out=9,
        model="gpt-test-0613",
        finish="stop",
        prompt=server.asked[0]["messages"][0]["content"],
    )


def test_half_a_surrogate_pair_which_no_file_can_hold_becomes_a_question_mark(server):
    server.replies = [(200, "\ud83d It is \U0001f319 far."), (400, "no \udc00")]
    chat = server.chat()
    assert chat.answer("How far?", "context").text == "? It is \U0001f319 far."
    with pytest.raises(StageError, match=r"no \?$"):
        chat.answer("How far?", "context")


@pytest.mark.parametrize(
    ("said", "declined"),
    [
        ("I don't know.", True),
        ("I don’t know", True),
        ('"I do not know."', True),
        ("Sorry, I don't know that.", True),
        ("The context does not say.", True),
        ("I cannot answer from this.", True),
        ("", True),
        (" \n", True),
        ("Most people say: I don't know.", False),
        ("It is not known to be covered.", False),
    ],
)
def test_a_decline_is_known_by_its_words_and_an_empty_answer_is_one(server, said, declined):
    server.replies = [(200, said)]
    found = server.chat().answer("How far?", "context")
    assert (found.text, found.declined) == (said.strip(), declined)


def test_patterns_of_ones_own_take_the_place_of_the_usual_ones(server):
    server.replies = [(200, "NO ANSWER"), (200, "I don't know.")]
    chat = server.chat(decline_patterns=["^no answer$"])
    assert chat.answer("How far?", "").declined
    assert not chat.answer("How far?", "").declined


def test_a_busy_server_is_given_the_time_that_it_asks_for_and_then_answers(server):
    server.replies = [(429, "slow down", {"Retry-After": "1"}), (200, "Far.")]
    assert server.chat().answer("How far?", "context").text == "Far."
    (waited,) = server.waits()
    assert waited >= 1


def test_a_server_that_is_not_there_gives_up_on_the_question(server):
    with pytest.raises(StageError, match="chat model 'openai:gpt-test' failed: "):
        server.chat(base_url="http://127.0.0.1:1/v1", retries=0).answer("How far?", "context")


def test_as_many_requests_as_allowed_are_in_flight_at_once_and_never_more(server):
    server.together = threading.Barrier(3)
    chat = server.chat(concurrent=3, prompt="{question}{context}", retries=0)
    chat.check()
    done = list(answered(chat, [(n, f"How far is {n}?", "", 0) for n in range(12)]))
    assert server.most == 3
    assert sorted(each.key for each in done) == list(range(12))
    assert {(each.answer.text, each.failure) for each in done} == {("It is 384,400 km away.", None)}
    sent = sorted(asked["messages"][0]["content"] for asked in server.asked)
    assert sent == sorted(f"How far is {n}?" for n in range(12))


def test_one_question_that_the_server_refuses_fails_alone_among_those_asked_with_it(server):
    server.replies = [(400, "too long"), (200, "Far.")]
    chat = server.chat(concurrent=2)
    chat.check()
    done = list(answered(chat, [(n, "How far?", "", 0) for n in range(4)]))
    (failed,) = [each for each in done if each.failure]
    assert failed.answer is None
    assert failed.failure.startswith("chat model 'openai:gpt-test' failed: ")
    assert "too long" in failed.failure
    assert [each.answer.text for each in done if not each.failure] == ["Far."] * 3


def test_in_a_run_a_question_that_failed_is_recorded_and_the_others_are_answered(
    server, project, cli
):
    server.replies = [(500, "the disk is full"), (200, "It is 384,400 km away.")]
    spec = {"model": "openai:gpt-test", "base_url": server.url, "retries": 0, "concurrent": 1}
    project.config(generators=[{"chat": spec}], max_failures=1)
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    (folder,) = [path for path in (project.folder / "reports").iterdir() if path.is_dir()]
    first, second, third = map(
        json.loads, (folder / "records.jsonl").read_text("utf-8").splitlines()
    )
    assert first["error"]["stage"] == "generation"
    assert "the disk is full" in first["error"]["reason"]
    assert (first["answer"], "usage" in first) == (None, False)
    assert (first["scores"]["token_f1"]["value"], first["scores"]["token_f1"]["state"]) == (
        None,
        "failed",
    )
    assert first["scores"]["passage_recall@2"]["value"] == 1.0
    assert [(each["answer"], each["error"]) for each in (second, third)] == [
        ("It is 384,400 km away.", None)
    ] * 2
    assert second["usage"]["tokens_in"] == 57
    stored = "".join(path.read_text("utf-8") for path in folder.iterdir() if path.is_file())
    assert "sk-for-this-test" not in stored


def test_a_missing_key_is_found_by_the_check_and_the_message_says_what_to_do(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    chat = generators.build({"chat": {"model": "openai:gpt-unset"}})
    with pytest.raises(HarnessError) as raised:
        chat.check()
    assert raised.value.status == 2
    assert "model 'openai:gpt-unset' cannot be started" in str(raised.value)
    assert "OPENAI_API_KEY" in str(raised.value)
    assert "set its key" in str(raised.value)


@pytest.mark.parametrize("model", ["gpt-4o", "openai", ":gpt", ""])
def test_a_model_of_no_provider_is_refused(model):
    with pytest.raises(SpecError, match=f"model: {model!r} names no provider: write provider:name"):
        generators.build({"chat": {"model": model}})


def test_a_model_of_no_known_provider_is_found_by_the_check():
    chat = generators.build({"chat": {"model": "nobody:model"}})
    with pytest.raises(HarnessError, match="name it provider:model") as raised:
        chat.check()
    assert "'nobody:model'" in str(raised.value)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"prompt": "{question}"}, "it must have the places {context} and {question}"),
        ({"prompt": "{context} {question} {x}"}, "it must have the places"),
        ({"prompt": "{context} {question} {"}, "write {{ and }} for braces"),
        ({"prompt": "{context} {question} {}"}, "and has ['context', 'question', '']"),
        ({"prompt": "{context} {question:>99999999999}"}, "it must have the places"),
        ({"prompt": "{context} {question.__class__}"}, "it must have the places"),
        ({"prompt": "{context!r} {question}"}, "it must have the places"),
        ({"repeat": 3}, "repeat: at temperature 0 all 3 answers would be the same; set a `temp"),
        ({"repeat": 3, "temperature": 0}, "set a `temperature` above 0"),
        ({"repeat": 0}, "repeat: Input should be greater than or equal to 1, not 0"),
        ({"decline_patterns": ["("]}, "decline_patterns: '(': "),
        ({"decline_patterns": []}, "decline_patterns: "),
        ({"concurrent": 0}, "concurrent: Input should be greater than or equal to 1, not 0"),
        ({"temperature": -1}, "temperature: Input should be greater than or equal to 0, not -1"),
    ],
)
def test_a_parameter_that_could_not_work_is_refused_before_anything_is_asked(parameters, told):
    with pytest.raises(SpecError) as raised:
        generators.build({"chat": {"model": "openai:gpt-test", **parameters}})
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"concurrent": 1}, True),
        ({"timeout": 5}, True),
        ({"retries": 0}, True),
        ({"base_url": "http://me:SECRET@host/v1"}, True),
        ({"base_url": "http://other/v1"}, False),
        ({"model": "openai:other"}, False),
        ({"prompt": "{question}{context}"}, False),
        ({"repeat": 3, "temperature": 0.5}, False),
        ({"temperature": 1}, False),
        ({"max_tokens": 8}, False),
        ({"decline_patterns": ["^no$"]}, False),
    ],
)
def test_its_identity_is_all_that_shapes_an_answer_and_not_the_pace_of_asking(change, same):
    spec = {"model": "openai:gpt-test", "base_url": "http://host/v1"}
    first, other = (identity_of(generators.build({"chat": s})) for s in (spec, {**spec, **change}))
    assert (first == other) == same
    assert "SECRET" not in str(other)


def test_how_often_a_question_is_asked_is_no_part_of_what_one_answer_is():
    spec = {"model": "openai:gpt-test", "temperature": 0.5}
    once, often = (generators.build({"chat": {**spec, "repeat": n}}) for n in (1, 5))
    assert (once.repeat, often.repeat) == (1, 5)
    assert identity_of(once) == identity_of(often)


def test_each_sample_is_asked_with_the_seed_that_many_further_on(server):
    chat = replace(server.chat(temperature=0.5, repeat=3), seed=7)
    for sample in range(chat.repeat):
        chat.answer("How far?", "context", sample)
    assert [asked["seed"] for asked in server.asked] == [7, 8, 9]


def test_without_a_model_of_its_own_it_asks_the_runs_with_what_it_sets_itself(server):
    model = ChatModel("openai:gpt-test", server.url, temperature=0.2, max_tokens=50, seed=3)
    bare = generators.build({"chat": {"temperature": 0.9, "concurrent": 2}})
    chat = replace(bare, chat=model)
    chat.answer("How far?", "context")
    (asked,) = server.asked
    assert (asked["model"], asked["temperature"], asked["seed"]) == ("gpt-test", 0.9, 3)
    assert asked.get("max_completion_tokens", asked.get("max_tokens")) == 50
    assert chat.at_once == 2
    assert label(chat) == "chat(temperature=0.9, concurrent=2)"


def test_without_any_model_it_says_what_to_name():
    with pytest.raises(SpecError) as raised:
        generators.build("chat").check()
    assert str(raised.value) == (
        "generator 'chat' needs a chat model\n"
        "  name one: `chat: {model: provider:name}`, or its own `model`"
    )


def test_repeats_at_the_temperature_zero_of_the_runs_model_are_refused_when_it_is_known():
    bare = generators.build({"chat": {"repeat": 2}})
    with pytest.raises(ValueError, match="set a `temperature` above 0"):
        replace(bare, chat=ChatModel("openai:gpt-test"))


def test_a_template_from_a_file_loses_its_last_line_feed_and_is_part_of_its_identity(server):
    named = server.chat(prompt="answer.txt")
    chat = replace(named, template="{context}\n{question}\n\n")
    chat.answer("How far?", "It is {far}.")
    assert server.asked[0]["messages"][0]["content"] == "It is {far}.\nHow far?\n"
    assert identity_of(chat)["prompt"] == "{context}\n{question}\n"
    assert label(chat).startswith("chat(model=openai:gpt-test, prompt=answer.txt, ")
    with pytest.raises(SpecError, match=r"prompt 'answer.txt' names a file"):
        named.answer("How far?", "")


def test_in_a_run_the_template_is_read_from_a_file_beside_the_configuration(server, project, cli):
    (project.folder / "brief.txt").write_text("{question} Briefly: {context}\n", "utf-8")
    spec = {"model": "openai:gpt-test", "base_url": server.url, "prompt": "brief.txt"}
    spec["concurrent"] = 1
    project.config(generators=[{"chat": spec}])
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    sent = server.asked[0]["messages"][0]["content"]
    assert sent.startswith("How far away is the Moon? Briefly: ")
    assert not sent.endswith("\n")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "'brief.txt' does not exist"),
        (b"{question}", "it must have the places {context} and {question}"),
        (b"\xff{question}{context}", "prompt 'brief.txt'"),
    ],
)
def test_a_template_file_that_could_not_work_is_refused_before_anything_is_asked(
    project, refused, content, told
):
    if content is not None:
        (project.folder / "brief.txt").write_bytes(content)
    project.config(generators=[{"chat": {"model": "openai:gpt-test", "prompt": "brief.txt"}}])
    said = "\n".join(refused())
    assert told in said
    assert "generators" in said


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai:gpt-test", "OPENAI_API_BASE"),
        ("openai:gpt-test", "OPENAI_BASE_URL"),
        ("azure_openai:gpt-test", "AZURE_OPENAI_ENDPOINT"),
    ],
)
def test_a_server_that_only_the_environment_names_is_part_of_its_identity(no_urls, model, variable):
    chat = generators.build({"chat": {"model": model}})
    found = [identity_of(chat)["base_url"]]
    for url in ("", "http://me:SECRET@one/v1", "http://two/v1"):
        no_urls.setenv(variable, url)
        found.append(identity_of(chat)["base_url"])
    assert found == [None, None, "http://one/v1", "http://two/v1"]


def test_a_url_of_its_own_or_another_provider_makes_the_environments_no_part_of_it(no_urls):
    no_urls.setenv("OPENAI_BASE_URL", "http://one/v1")
    own = generators.build({"chat": {"model": "openai:gpt-test", "base_url": "http://two/v1"}})
    other = generators.build({"chat": {"model": "anthropic:claude"}})
    assert identity_of(own)["base_url"] == "http://two/v1"
    assert identity_of(other)["base_url"] is None


def test_the_server_that_is_asked_is_the_one_that_its_identity_names(server, no_urls):
    chat = server.chat(base_url=None, retries=0)
    with serving() as other:
        other.replies = [(200, "Farther.")]
        said = []
        for each in (server, other):
            no_urls.setenv("OPENAI_API_BASE", each.url)
            no_urls.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
            assert identity_of(chat)["base_url"] == each.url
            said.append(chat.answer("How far?", "context").text)
    assert said == ["It is 384,400 km away.", "Farther."]
