"""Keys of the environment are in nothing that is written, though a server sends them back."""

import sys

import pytest
import yaml

from tests import canaries, small


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Plant the keys; return the folder of a small project, the working directory."""
    for name, value in canaries.KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    small.project(tmp_path)
    return tmp_path


def config(folder, name, **settings):
    path = folder / name
    places = {"corpus": "corpus", "testset": "testset.jsonl", "max_failures": 1.0}
    path.write_text(yaml.safe_dump({**places, **settings}))
    return path


def test_the_search_finds_a_key_that_is_written_packed_or_encoded(tmp_path):
    import base64
    import zlib

    key = canaries.KEYS["HF_TOKEN"].encode()
    for name, raw in {
        "a": key,
        "b": zlib.compress(key),
        "c": base64.b64encode(b"xy" + key),
    }.items():
        (tmp_path / name).write_bytes(b"" + raw)
    assert len(canaries.found([tmp_path], [f"say {canaries.PASSWORD}"])) == 4


def test_keys_that_a_server_sends_back_are_in_nothing_that_is_written(planted, cli):
    with canaries.echoing() as url:
        chat = {
            "model": "openai:gpt",
            "base_url": canaries.with_password(f"{url}/v1"),
            "retries": 0,
        }
        judged = config(
            planted,
            "judged.yaml",
            embedders=["hashing"],
            generators=["chat"],
            chat=chat,
            judge=chat,
            metrics=["token_f1", "faithfulness"],
        )
        asked = {
            "url": f"{url}/ask",
            "response": {"answer": "$.answer", "contexts": "$.contexts[*]"},
        }
        headers = {"Authorization": "Bearer ${APP_TOKEN}"}
        http = config(
            planted, "http.yaml", system={"http": {**asked, "headers": headers, "retries": 0}}
        )
        said = [cli("run", judged, "--json"), cli("run", http)]
    assert [each.status for each in said] == [0, 0]
    assert len(list(planted.glob("reports/*/records.jsonl"))) == 2
    texts = [text for each in said for text in (each.out, each.err)]
    assert canaries.found([planted / "reports", planted / ".harness"], texts) == []


def test_a_crash_in_code_of_ones_own_shows_no_key_that_it_held(planted, cli):
    (planted / "canary_app.py").write_text(canaries.APP)
    path = config(planted, "own.yaml", system={"python": {"function": "canary_app:ask"}})
    said = cli("run", path)
    records = next(planted.glob("reports/*/records.jsonl")).read_text()
    assert "401 for $APP_TOKEN" in records
    assert canaries.found([planted / "reports", planted / ".harness"], [said.out, said.err]) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"chat": {"model": "openai:gpt", "api_key": canaries.PASSWORD}},
        {"index": {"server": f"http://user:{canaries.PASSWORD}@127.0.0.1:1"}},
        {"index": {"server": {"url": "http://127.0.0.1:1", "token": canaries.PASSWORD}}},
        {"embedders": [{"langchain": {"cls": "a.B", "arguments": {"api_key": canaries.PASSWORD}}}]},
        {
            "system": {
                "http": {
                    "url": "http://127.0.0.1:1",
                    "response": {"answer": "$.a"},
                    "headers": {"Authorization": f"Bearer {canaries.PASSWORD}"},
                }
            }
        },
    ],
)
def test_a_key_in_a_configuration_is_refused_and_not_repeated(planted, cli, settings):
    said = cli("validate", config(planted, "key.yaml", **settings))
    assert said.status == 2
    assert canaries.found([], [said.out, said.err]) == []
