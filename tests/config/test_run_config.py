"""A file becomes a checked configuration, or a list of everything that is wrong with it."""

import os
import time
from pathlib import Path

import pytest
import yaml

from harness.chunkers.fixed import Fixed
from harness.chunkers.recursive import Recursive
from harness.chunkers.whole import WholeDocument
from harness.config.run_config import load, load_mapping
from harness.embedders.hashing import Hashing
from harness.embedders.sentence_transformer import SentenceTransformer
from harness.errors import ConfigError
from harness.generators.extractive import Extractive
from harness.index import IndexSettings
from harness.metrics.precision import Recall
from harness.rerankers.no_reranker import NoReranker
from harness.retrievers.bm25 import Bm25
from harness.retrievers.dense import Dense
from harness.retrievers.hybrid import Hybrid

GRID = {"chunkers": ["sentence", "whole"], "retrievers": ["dense", "bm25"]}
NAMES = "abstention, passage_recall@2, token_f1"
BIG_YAML = "a: &a [x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abc", "bcd", strict=True)
)


def problems(path, *overrides, **environment):
    """Return each problem of a configuration as (place, what, hint)."""
    with pytest.raises(ConfigError) as caught:
        load(path, overrides, environment)
    return [(problem.where, problem.what, problem.hint) for problem in caught.value.problems]


def places(found):
    return [where for where, _, _ in found]


def test_two_keys_are_enough_and_the_rest_has_the_published_defaults(project):
    config = load(project.config("corpus: corpus\ntestset: testset.jsonl\n"), environment={})

    settings = config.settings
    assert (settings.seed, settings.labels, settings.retrieve) == (7, None, 20)
    assert (settings.context.chunks, settings.context.tokens) == (5, 1500)
    assert settings.index == IndexSettings("cosine", 16, 100, 100)
    assert (settings.relevance_level, settings.min_overlap) == (1, 0.5)
    assert (settings.max_failures, settings.margin) == (0.05, 0.02)
    assert settings.cost == ["money", "tokens", "seconds"]
    assert (str(config.output), str(config.cache)) == ("reports", ".harness")
    assert (config.baseline, config.decide_by) == (None, "hit_rate@5")
    names = " ".join(named.name for named in config.metrics)
    ranking = "hit_rate@5 precision@5 recall@5 mrr@10 ndcg@10"
    assert names == f"{ranking} bleu rougeL token_f1 abstention"
    (cell,) = config.cells
    assert cell.chunker == Recursive(size=800, overlap=100)
    assert cell.embedder == SentenceTransformer("sentence-transformers/all-MiniLM-L6-v2")
    assert (cell.retriever, cell.reranker, cell.generator) == (Dense(), NoReranker(), Extractive())


class TestWhereValuesComeFrom:
    def test_the_command_line_wins_over_the_environment_which_wins_over_the_file(self, project):
        path = project.config(retrieve=4, seed=1, margin=0.1)
        environment = {"HARNESS_RETRIEVE": "5", "HARNESS_SEED": "2", "HARNESS_NONSENSE": "x"}

        settings = load(path, ["retrieve=9", "retrieve=6"], environment).settings

        assert (settings.retrieve, settings.seed, settings.margin) == (6, 2, 0.1)

    def test_a_problem_names_what_put_the_value_there(self, project):
        assert problems(project.config(retrieve=4), "seed=x", HARNESS_RETRIEVE="0") == [
            ("--set seed", "Input should be a valid integer, not 'x'", ""),
            ("HARNESS_RETRIEVE", "Input should be greater than 0, not 0", ""),
        ]

    def test_dots_lead_deeper_and_leave_the_keys_beside_alone(self, project):
        path = project.config(context={"chunks": 2, "tokens": 70}, targets={"token_f1": 0.5})

        overrides = ["context.tokens=80", "index.space=l2", "targets.passage_recall@2=0.9"]
        settings = load(path, [*overrides, "retrievers=[bm25, hybrid]"]).settings

        assert (settings.context.chunks, settings.context.tokens) == (2, 80)
        assert settings.index == IndexSettings(space="l2")
        assert settings.targets == {"token_f1": 0.5, "passage_recall@2": 0.9}
        assert settings.retrievers == ["bm25", "hybrid"]

    @pytest.mark.parametrize(
        ("override", "problem"),
        [
            *(
                (text, ("--set", "number 1 of them is not of the form key=value", ""))
                for text in ("retrieve", "=5", "")
            ),
            ("retrieve=[", ("--set retrieve", "it is not YAML (character 2)", "")),
            ("seed=2020-13-45", ("--set seed", "it is not YAML (character 1)", "")),
            (
                "context.chunk=2",
                ("--set context.chunk", "unknown key 'chunk'", "did you mean 'chunks'?"),
            ),
        ],
    )
    def test_an_override_that_says_nothing_is_refused(self, project, override, problem):
        ((where, what, hint),) = problems(project.config(), override)

        assert (where, what) == problem[:2]
        assert hint.startswith(problem[2])

    def test_a_mapping_in_python_is_as_good_as_a_file(self, project):
        config = load_mapping({**project.settings, "seed": None, "retrieve": 9}, ["margin=0.1"], {})

        assert (config.settings.seed, config.settings.retrieve) == (7, 9)
        assert config.settings.margin == 0.1


class TestGrid:
    def test_lists_are_axes_and_the_grid_is_their_product_in_order(self, project):
        path = project.config(
            chunkers=[{"fixed": {"size": [100, 200], "overlap": [0, 10]}}, "sentence"],
            retrievers=["dense", "bm25"],
        )

        cells = load(path).cells

        chunkers = list(dict.fromkeys(cell.chunker for cell in cells))
        assert chunkers[:4] == [Fixed(100, 0), Fixed(100, 10), Fixed(200, 0), Fixed(200, 10)]
        assert [cell.retriever for cell in cells] == [Dense(), Bm25()] * 5

    def test_a_list_is_no_axis_where_the_parameter_itself_is_a_list(self, project):
        path = project.config(retrievers=[{"hybrid": {"of": ["bm25", "dense"], "c": [10, 60]}}])

        assert [cell.retriever for cell in load(path).cells] == [
            Hybrid(of=("bm25", "dense"), c=10),
            Hybrid(of=("bm25", "dense"), c=60),
        ]

    def test_cells_that_differ_only_in_an_embedder_nobody_reads_are_one(self, project):
        embedders = [{"hashing": {"dimensions": [32, 64]}}]
        path = project.config(embedders=embedders, retrievers=["bm25", "dense"])

        assert [(cell.retriever, cell.embedder) for cell in load(path).cells] == [
            (Bm25(), None),
            (Dense(), Hashing(32)),
            (Dense(), Hashing(64)),
        ]

    def test_one_component_may_stand_without_its_list(self, project):
        path = project.config(metrics="recall@2", retrievers={"bm25": {"k1": 1}})

        config = load(path)

        assert [cell.retriever for cell in config.cells] == [Bm25(k1=1)]
        assert config.metrics[0].metric == Recall(k=2, rel=1)

    def test_the_runs_labels_and_level_reach_the_metrics_that_name_none(self, project):
        metrics = ["recall@2", "recall(rel=1)@2"]
        path = project.config(labels="documents", relevance_level=2, metrics=metrics)

        assert [named.metric for named in load(path).metrics] == [
            Recall(k=2, labels="documents", rel=2),
            Recall(k=2, labels="documents", rel=1),
        ]

    def test_a_metric_has_its_usual_name_and_else_is_called_as_it_was_written(self, project):
        given = ["map@2", "success@1", " ndcg( gain = exponential )@2", {"recall": {"k": 2}}]

        names = [named.name for named in load(project.config(metrics=given)).metrics]

        assert names == ["ap@2", "hit_rate@1", "ndcg( gain = exponential )@2", "recall@2"]

    @pytest.mark.parametrize(
        ("baseline", "chunker", "retriever"),
        [
            ({"chunker": "sentence", "retriever": "bm25"}, None, Bm25()),
            (
                {"chunker": {"whole": {"header": "none"}}, "retriever": "dense"},
                WholeDocument(),
                Dense(),
            ),
        ],
    )
    def test_the_baseline_is_the_first_cell_with_what_it_names(
        self, project, baseline, chunker, retriever
    ):
        config = load(project.config(**GRID, baseline=baseline))

        assert config.baseline in config.cells
        assert config.baseline.retriever == retriever
        assert chunker in (None, config.baseline.chunker)


class TestPaths:
    def test_they_are_looked_for_beside_the_file_and_then_in_the_working_directory(self, project):
        Path("configs/corpus").mkdir(parents=True)
        path = Path("configs/nightly.yaml")
        path.write_text(yaml.safe_dump(project.settings), "utf-8")

        config = load(path, environment={})
        other = load(path, ["corpus=corpus"], {})

        assert config.corpus.path == "configs/corpus"
        assert config.testset.path == "testset.jsonl"
        # What the command line names is named from where it is typed.
        assert other.corpus.path == "corpus"

    @pytest.mark.parametrize(
        "form", ["${DATA}", {"folder": "${DATA}"}, {"path": "$DATA/../corpus"}]
    )
    def test_variables_are_filled_in_from_the_environment(self, project, form):
        environment = {"DATA": str(project.folder / "corpus"), "T": "testset"}

        config = load(project.config(corpus=form, testset="${T}.jsonl"), (), environment)

        assert os.path.samefile(config.corpus.path, project.folder / "corpus")
        assert config.testset.path == "testset.jsonl"

    def test_one_that_is_nowhere_is_refused_with_where_it_was_looked_for(self, project):
        Path("configs").mkdir()
        path = Path("configs/nightly.yaml")
        text = yaml.safe_dump(project.settings | {"corpus": "docs"}, sort_keys=False)
        path.write_text(text, "utf-8")

        assert problems(path)[0] == (
            "line 1, corpus",
            "'docs' does not exist",
            "looked at configs/docs and docs",
        )
        assert problems(path, "corpus=${DATA}/corpus")[0][1:] == (
            "'${DATA}/corpus': the environment variable DATA is not set",
            "run it as: DATA=FOLDER ...",
        )
        assert "cannot be looked up" in problems(path, f"corpus={'x' * 300}")[0][1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("corpus: [a\ntestset: b", "line 2, column 8: is not YAML: expected ',' or ']'"),
        ("corpus: a\n\ttestset: b", "line 2, column 1: is not YAML: found character '\\t'"),
        ("corpus: *nowhere", "line 1, column 9: is not YAML: found undefined alias 'nowhere'"),
        ("? [a]\n: b", "line 1, column 3: is not YAML: found unhashable key"),
        ("corpus: !!python/object/apply:os.mkdir [made]", "line 1, column 9: is not YAML: could"),
        ("a: 1\nseed: 2020-13-45", "line 2, column 7: is not YAML: '2020-13-45' is no timestamp"),
        ("a: 1\nseed: !!bool perhaps", "line 2, column 7: is not YAML: 'perhaps' is no bool"),
        (f"seed: {'9' * 5000}", f"line 1, column 7: is not YAML: '{'9' * 40}' is no int"),
        ("# none\n", "the file: must hold keys, holds nothing"),
        ("- a", "the file: must hold keys, holds list"),
        ("5", "the file: must hold keys, holds int"),
        ("a: {b: 1,\n  b: 2}\na: 1", "line 2: the key 'b' is there already, on line 1"),
    ],
)
def test_a_file_that_is_no_mapping_in_yaml_is_refused_with_line_and_column(project, text, problem):
    where, what, _ = problems(project.config(text))[0]

    assert f"{where}: {what}".startswith(problem)
    assert not (project.folder / "made").exists()


def test_aliases_of_aliases_are_entered_once(project):
    started = time.perf_counter()

    found = problems(project.config(BIG_YAML))

    assert time.perf_counter() - started < 2
    assert "line 1, a" in places(found)


@pytest.mark.parametrize(
    ("changes", "problem", "hint"),
    [
        (
            {"index": {"spce": "l2"}},
            "line 20, index.spce: unknown key 'spce'",
            "did you mean 'space'? choose from: cloud, ef_construction, ef_search, exact, existing",
        ),
        (
            {"metrics": ["bleu@2"]},
            "line 16, metrics[0]: metric 'bleu' has no cut-off @k",
            "choose from: smoothing, tokens",
        ),
        (
            {"corpus": {"path": "corpus", "globb": "*"}},
            "line 1, corpus: corpus format 'folder' has no parameter 'globb'",
            "did you mean 'glob'? choose from: glob, html, on_error, path",
        ),
        (
            {"chunkers": [{"fixed": {"size": []}}]},
            "line 4, chunkers[0]: chunker 'fixed': size: the list is empty",
            "name a value",
        ),
        (
            {"baseline": {"retriver": "bm25"}},
            "line 20, baseline.retriver: unknown axis 'retriver'",
            "did you mean 'retriever'? choose from: chunker, embedder, generator, reranker, retr",
        ),
        (
            {"targets": {"passage_recall@3": 0.9}},
            "line 20, targets.passage_recall@3: 'passage_recall@3' is not among the metrics",
            f"did you mean 'passage_recall@2'? choose from: {NAMES}",
        ),
        (
            {"decide_by": "token_f"},
            "line 19, decide_by: 'token_f' is not among the metrics",
            f"did you mean 'token_f1'? choose from: {NAMES}",
        ),
        (
            {"metrics": ["recall@2", "recall(rel=1)@2"]},
            "line 17, metrics[1]: 'recall(rel=1)@2' is the same metric as 'recall@2'",
            "take one of them out",
        ),
        (
            {"metrics": ["mrr@2", "rr@2"]},
            "line 17, metrics[1]: 'mrr@2' is the same metric as 'mrr@2'",
            "take one of them out",
        ),
        (
            {"metrics": ["recall@2", "composite(weights=1*mrr@6)"]},
            "line 17, metrics[1]: 'composite(weights=1*mrr@6)' reads 6 hits, and `retrieve` leaves",
            "raise `retrieve`, or read fewer",
        ),
        (
            {"generators": ["none"], "metrics": ["recall@2", "composite"]},
            "line 17, metrics[1]: 'composite' needs an answer, and no generator gives one",
            "add a generator, or take the metric out",
        ),
        (
            {
                "rerankers": ["none", {"bi_encoder": {"embedder": "hashing", "keep": 2}}],
                "metrics": ["ndcg@3"],
            },
            "line 16, metrics[0]: 'ndcg@3' reads 3 hits, and `keep` of bi_encoder leaves 2",
            "raise `keep` of bi_encoder, or read fewer",
        ),
    ],
)
def test_a_name_that_is_not_there_or_does_not_fit_is_refused_with_a_remedy(
    project, changes, problem, hint
):
    ((where, what, remedy),) = problems(project.config(**changes))

    assert f"{where}: {what}".startswith(problem)
    assert remedy.startswith(hint)


@pytest.mark.parametrize(
    ("changes", "place", "value"),
    [
        ({"retrieve": True}, "line 12, retrieve", "True"),
        ({"retrieve": 4.5}, "line 12, retrieve", "4.5"),
        ({"context": {"tokens": 0}}, "line 14, context.tokens", "0"),
        ({"labels": "answers"}, "line 19, labels", "'answers'"),
        ({"min_overlap": 0}, "line 19, min_overlap", "0"),
        ({"max_failures": -0.1}, "line 19, max_failures", "-0.1"),
        ({"cost": ["time"]}, "line 20, cost[0]", "'time'"),
        ({"corpus": 5}, "line 1, corpus", "5"),
        ({"corpus": {"path": 5}}, "line 1, corpus", "5"),
        ({"chunkers": [5]}, "line 4, chunkers[0]", "5"),
        ({"chunkers": []}, "line 3, chunkers", "[]"),
        ({"chunkers": [{"fixed": 5}]}, "line 4, chunkers[0]", "5"),
        ({"metrics": ["recall(labels=words)@2"]}, "line 16, metrics[0]", "'words'"),
        ({"metrics": ["bleu(smoothing=9)"]}, "line 16, metrics[0]", "'9'"),
    ],
)
def test_a_wrong_type_or_range_is_refused_with_its_place_and_the_value(
    project, changes, place, value
):
    ((where, what, _),) = problems(project.config(**changes))

    assert where == place
    assert what.endswith(f", not {value}")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"chunkers": [{"fixed": {"size": True}}]}, "size: `yes` is no value of it"),
        ({"metrics": ["composite(weights=0.5*bleu)"]}, "they sum to 0.5, and must sum to 1"),
        ({"metrics": ["recall@2("]}, "is not of the form name(option=value, ...)@k"),
        ({"metrics": ["passage_recall"]}, "a cut-off is needed: @5"),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(project, changes, problem):
    ((_, what, _),) = problems(project.config(**changes))

    assert problem in what


class TestAllAtOnce:
    def test_each_mistake_is_named_once_whatever_else_is_wrong(self, project):
        (project.folder / "testset.jsonl").write_text("{\n", "utf-8")
        path = project.config(
            "corpus: nowhere\ntestset: testset.jsonl\nseeed: 4\nretrieve: many\nchunkers:\n"
            "  - fixed: {size: [100, 200], overlap: 150}\n  - whole\n  - fixd\n"
            "metrics: [recal@5,\n  ndcg@0]\ngate: {fail_if: {metric: bleu}}\n"
        )

        assert places(problems(path)) == [
            "line 4, retrieve",
            "line 11, gate.fail_if",
            "line 3, seeed",
            "line 6, chunkers[0]",
            "line 8, chunkers[2]",
            "line 9, metrics[0]",
            "line 10, metrics[1]",
            "line 1, corpus",
            "testset.jsonl, line 1",
        ]

    @pytest.mark.parametrize(
        ("changes", "place"),
        [
            # Nothing says that what is looked for is missing where it could not be read.
            ({"metrics": ["token_f2", "recall@2"], "decide_by": "token_f1"}, "metrics[0]"),
            ({"generators": ["none", "chta"], "metrics": ["token_f1"]}, "generators[1]"),
            ({"retrieve": 0, "context": {"chunks": 30}}, "retrieve"),
            ({"chat": 5, "generators": ["chat"]}, "chat"),
            ({"retrievers": ["bm52"], "baseline": {"retriever": "bm25"}}, "retrievers[0]"),
        ],
    )
    def test_what_depends_on_a_wrong_key_is_no_second_mistake(self, project, changes, place):
        ((where, _, _),) = problems(project.config(**changes))

        assert where.endswith(place)

    def test_the_test_set_is_held_against_the_keys_that_are_valid(self, project):
        project.testset({"question": "How far is the Moon?", "documents": ["moon.md"]})
        path = project.config(retreive=5, metrics=["recall@2", "passage_recall@2", "bleu"])

        assert [what for _, what, _ in problems(path)] == [
            "unknown key 'retreive'",
            "'passage_recall@2' needs evidence, and no question of the test set has any",
            "'bleu' needs answer, and no question of the test set has any",
        ]

    def test_nobody_waits_for_documents_to_be_converted_to_be_told_of_a_key(self, project):
        project.document("paper.pdf", b"no PDF at all")
        project.testset("{", {"question": "How far is the Moon?", "documents": ["moon.md"]})

        assert places(problems(project.config(retreive=5))) == [
            "line 19, retreive",
            "testset.jsonl, line 1",
        ]
