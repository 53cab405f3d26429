"""Paths of a configuration stay in its project, unless the person who runs it says otherwise."""

from pathlib import Path

import pytest

from harness.config import load
from harness.errors import ConfigError, SpecError
from harness.reach import Reach
from tests import small


@pytest.fixture
def outside(tmp_path_factory) -> Path:
    """Return a folder out of every project, with the documents and questions of the small one."""
    folder = tmp_path_factory.mktemp("outside")
    small.project(folder)
    (folder / "prompt.txt").write_text("{context} {question}")
    (folder / "prices.yaml").write_text("models: {}\n")
    (folder / "model.gguf").write_bytes(b"GGUF")
    for name in ("mo=del", "mo(d,el", "It's, (2024) = x|y"):
        (folder / name).mkdir()
    return folder


def refusals(path, *overrides, **environment):
    with pytest.raises(ConfigError) as caught:
        load(path, overrides, environment)
    return [(each.where, each.what) for each in caught.value.problems]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("corpus", "{}/corpus"),
        ("corpus", {"folder": {"path": "{}/corpus"}}),
        ("testset", "{}/testset.jsonl"),
        ("output", "{}/reports"),
        ("cache", "{}/.harness"),
        ("prices", "{}/prices.yaml"),
        ("traffic", "{}/testset.jsonl"),
        ("chat", {"model": "gguf:{}/model.gguf"}),
        ("judge", {"model": "gguf:{}/model.gguf"}),
        ("generators", [{"chat": {"model": "openai:x", "prompt": "{}/prompt.txt"}}]),
        ("generators", [{"chat": {"model": "gguf:{}/model.gguf"}}]),
        ("embedders", [{"sentence_transformer": {"model": "{}/corpus"}}]),
        ("embedders", ["sentence_transformer(model={}/corpus)"]),
        ("rerankers", [{"cross_encoder": {"model": "{}/corpus"}}]),
        ("chunkers", [{"token": {"tokenizer": "{}/corpus"}}]),
        ("metrics", ["bertscore_f1(model={}/corpus)"]),
        ("metrics", ["composite(weights=1*bertscore_f1(model={}/corpus))"]),
        ("embedders", ["sentence_transformer(model={}/mo=del)"]),
        ("embedders", ['sentence_transformer(model="{}/mo(d,el")']),
        ("embedders", [{"langchain": {"cls": "a.B", "arguments": {"folder": "{}/corpus"}}}]),
        ("rerankers", ["bi_encoder(embedder=sentence_transformer(model={}/mo=del))"]),
        ("chunkers", ["sentence(parent=semantic(embedder=sentence_transformer(model={}/corpus)))"]),
        ("system", {"trec_run": {"path": "{}/testset.jsonl"}}),
        ("index", {"existing": {"collection": "chunks", "path": "{}/corpus"}}),
        (
            "gate",
            {"fail_if": {"metric": "token_f1", "drop_more_than": 0.1}, "baseline": "{}/b.json"},
        ),
    ],
)
def test_no_path_of_a_configuration_leads_out_of_its_project(project, outside, key, value):
    def put(each):
        if isinstance(each, dict):
            return {name: put(inner) for name, inner in each.items()}
        if isinstance(each, list):
            return [put(inner) for inner in each]
        return each.replace("{}", str(outside)) if isinstance(each, str) else each

    gone = (
        {}
        if key != "system"
        else dict.fromkeys(
            ("chunkers", "embedders", "retrievers", "generators", "context", "metrics")
        )
    )
    if key == "index":
        gone = {"chunkers": None}
    found = refusals(project.config(**{**gone, key: put(value)}))

    assert any(f"leads out of the project, to '{outside}" in what for _, what in found), found
    assert all(key in where for where, what in found if "leads out" in what)


@pytest.mark.parametrize("form", ["../{name}/corpus", "${{OUT}}/corpus", "link", "sub/../link"])
def test_dots_variables_and_links_are_followed_first(project, outside, form, tmp_path):
    (tmp_path / "link").symlink_to(outside / "corpus")
    (tmp_path / "sub").mkdir()
    given = form.format(name=f"../{outside.parent.name}/{outside.name}" if ".." in form else "")
    if form.startswith(".."):
        given = f"{'../' * (len(tmp_path.parts) - 1)}{outside.relative_to('/')}/corpus"
    found = refusals(project.config(corpus=given), OUT=str(outside))
    assert found == [
        ("line 1, corpus", f"{given!r} leads out of the project, to {str(outside / 'corpus')!r}")
    ]


def test_the_refusal_says_what_the_project_is_and_how_to_allow_it(project, outside, cli):
    said = cli("run", project.config(corpus=str(outside / "corpus")))
    assert said.status == 2
    assert said.err.splitlines() == [
        "config.yaml is not a valid configuration:",
        f"  line 1, corpus: '{outside}/corpus' leads out of the project, to '{outside}/corpus'",
        f"    the project is {project.folder}; if it is meant: --allow-outside",
    ]
    assert project.written() == []


def test_a_flag_an_argument_or_a_variable_allows_it(project, outside, cli):
    path = project.config(corpus=str(outside / "corpus"), testset=str(outside / "testset.jsonl"))
    assert cli("validate", path, "--allow-outside").status == 0
    assert load(path, environment={}, allow_outside=True).corpus.path == str(outside / "corpus")
    assert load(path, environment={"HARNESS_ALLOW_OUTSIDE": "1"}).cells
    assert refusals(path, HARNESS_ALLOW_OUTSIDE="0")
    assert refusals(path, "allow_outside=true")[0][1].startswith("unknown key 'allow_outside'")


def test_what_the_person_typed_needs_no_flag_and_frees_nothing_else(project, outside):
    corpus, questions = str(outside / "corpus"), str(outside / "testset.jsonl")
    path = project.config()
    assert load(path, [f"corpus={corpus}"], {"HARNESS_TESTSET": questions}).corpus.path == corpus
    assert load(path, [f"corpus={{folder: {corpus}}}", f"testset={questions}"], {}).cells

    path = project.config(chat={"model": f"gguf:{outside}/model.gguf"}, corpus=corpus)
    found = refusals(path, "chat.temperature=0", "corpus.glob='*'", HARNESS_SEED="7")
    assert [what for _, what in found if "leads out" in what]


def test_a_typed_path_may_hold_what_separates_values_of_a_spec(project, outside):
    folder = str((outside / "corpus").rename(outside / "It's, (2024) = x|y" / "c"))
    for given in (
        f"corpus={folder}",
        f'corpus={{folder: {{path: "{folder}"}}}}',
        f'corpus.folder={{path: "{folder}"}}',
    ):
        assert load(project.config(corpus="corpus"), [given], {}).corpus.path == folder
    model = str(outside / "mo(d,el")
    for given in (
        f"embedders=[{{sentence_transformer: {{model: '{model}'}}}}]",
        f"embedders=['sentence_transformer(model=\"{model}\")']",
    ):
        assert load(project.config(), [given], {}).cells[0].embedder.model == model


def test_a_text_of_specs_in_specs_beyond_all_depth_is_read_in_no_time(project):
    deep = "a(b=" * 4_000 + ")" * 4_000
    spec = {"sentence_transformer": {"query_prompt": deep}}
    assert load(project.config(embedders=[spec]), [], {}).cells[0].embedder.query_prompt == deep


@pytest.mark.parametrize("form", ["$OPENAI_API_KEY", "x/${OPENAI_API_KEY}/y"])
def test_a_key_in_the_place_of_a_path_is_refused_and_not_shown(project, form):
    found = refusals(project.config(corpus=form), OPENAI_API_KEY="canary-4711")
    said = f"{form!r}: OPENAI_API_KEY is a secret by its name, and no part of a path"
    assert found == [("line 1, corpus", said)]


def test_the_project_is_the_configurations_folder_and_the_working_directory(tmp_path, monkeypatch):
    inner, beside = tmp_path / "project" / "configs", tmp_path / "project" / "data"
    for folder in (inner, beside):
        folder.mkdir(parents=True)
    reach = Reach(inner)
    monkeypatch.chdir(tmp_path / "project")
    reach.check("configs/../data")
    monkeypatch.chdir(inner)
    with pytest.raises(SpecError, match="leads out of the project"):
        reach.check("../data")
    with pytest.raises(SpecError, match="leads out of the project"):
        reach.check(str(tmp_path / "project" / "configs-of-another"))
