"""What people get wrong in a configuration: each is refused with place, fact and remedy."""

import pytest

HEADING = "config.yaml is not a valid configuration:"
KEYS = (
    "answer_test, baseline, cache, chat, chunkers, clusters, context, corpus, cost, decide_by, "
    "decline_patterns, embedders, execution, gate, generators, index, judge, labels, language, "
    "margin, max_cost, max_failures, metrics, min_overlap, oracle, output, prices, "
    "relevance_level, rerankers, retrieve, retrievers, reuse, sample, sample_seed, seed, system, "
    "targets, testset, token_budget, traffic"
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "corpus: [a\ntestset: b",
            "line 2, column 8: is not YAML: expected ',' or ']', but got ':'",
        ),
        (
            "corpus: a\n\ttestset: b",
            "line 2, column 1: is not YAML: found character '\\t' that cannot start any token",
        ),
        ("corpus: *nowhere", "line 1, column 9: is not YAML: found undefined alias 'nowhere'"),
        ("? [a]\n: b", "line 1, column 3: is not YAML: found unhashable key"),
    ],
)
def test_yaml_that_does_not_parse_is_refused_with_line_and_column(project, refused, text, problem):
    project.config(text)

    assert refused() == [
        HEADING,
        f"  {problem}",
        "    look at the indentation and the quotes there",
    ]


def test_a_yaml_tag_is_refused_and_nothing_it_names_is_called(project, refused):
    project.config("corpus: !!python/object/apply:os.mkdir [made]\ntestset: b")

    assert refused()[1].startswith("  line 1, column 9: is not YAML: could not determine a")
    assert not (project.folder / "made").exists()


@pytest.mark.parametrize(
    ("text", "found"), [("", "nothing"), ("# none\n", "nothing"), ("- a", "list"), ("5", "int")]
)
def test_a_file_that_holds_no_keys_is_refused_with_what_it_holds(project, refused, text, found):
    project.config(text)

    assert refused() == [
        HEADING,
        f"  the file: must hold keys, holds {found}",
        "    it starts like this: `corpus: corpora/insurellm`",
    ]


def test_a_file_that_is_not_utf8_is_refused(project, refused):
    (project.folder / "config.yaml").write_bytes(b"corpus: caf\xe9")

    assert refused()[1].startswith("  the file: cannot be read: 'utf-8' codec can't decode byte")


def test_a_key_that_is_there_twice_is_refused_at_every_depth(project, refused):
    project.config("corpus: a\ncontext: {chunks: 1,\n  chunks: 2}\ncorpus: b")

    assert refused() == [
        HEADING,
        "  line 3: the key 'chunks' is there already, on line 2",
        "    keep one of the two",
        "  line 4: the key 'corpus' is there already, on line 1",
        "    keep one of the two",
    ]


@pytest.mark.parametrize(
    ("changes", "problem", "hint"),
    [
        (
            {"retreive": 5},
            "line 19, retreive: unknown key 'retreive'",
            f"did you mean 'retrieve'? choose from: {KEYS}",
        ),
        (
            {"context": {"chunk": 3}},
            "line 14, context.chunk: unknown key 'chunk'",
            "did you mean 'chunks'? choose from: chunks, tokens",
        ),
        (
            {"index": {"spce": "l2"}},
            "line 20, index.spce: unknown key 'spce'",
            "did you mean 'space'? choose from: cloud, ef_construction, ef_search, exact, existing",
        ),
        (
            {"chunkers": ["sentnce"]},
            "line 4, chunkers[0]: unknown chunker 'sentnce'",
            "did you mean 'sentence'? choose from: cluster_semantic, code, fixed, html, markdown",
        ),
        (
            {"chunkers": [{"fixed": {"siz": 9}}]},
            "line 4, chunkers[0]: chunker 'fixed' has no parameter 'siz'",
            "did you mean 'size'? choose from: header, overlap, parent, size",
        ),
        (
            {"metrics": ["token_f1", "recal@2"]},
            "line 17, metrics[1]: unknown metric 'recal'",
            "did you mean 'recall'? choose from: abstention, answer_relevance, ap, bertscore_f1,",
        ),
        (
            {"metrics": ["bleu@2"]},
            "line 16, metrics[0]: metric 'bleu' has no cut-off @k",
            "choose from: smoothing, tokens",
        ),
        (
            {"corpus": {"foldr": "corpus"}},
            "line 1, corpus: unknown corpus format 'foldr'",
            "did you mean 'folder'? choose from: autorag, beir, csv, folder, jsonl, squad",
        ),
        (
            {"corpus": {"path": "corpus", "globb": "*"}},
            "line 1, corpus: corpus format 'folder' has no parameter 'globb'",
            "did you mean 'glob'? choose from: glob, html, on_error, path",
        ),
        (
            {"retrievers": ["dense", "dense"]},
            "line 10, retrievers[1]: 'dense' is there twice",
            "take one of them out",
        ),
        (
            {"generators": ["chat"]},
            "line 11, generators[0]: generator 'chat' needs a chat model",
            "name one: `chat: {model: provider:name}`",
        ),
        (
            {"metrics": ["faithfulness"]},
            "line 16, metrics[0]: metric 'faithfulness' needs a judge",
            "name one: `judge: {model: provider:name}`; context_overlap and abstention need",
        ),
        (
            {"judge": {"model": "openai:gpt", "tokens": 9}},
            "line 21, judge.tokens: unknown key 'tokens'",
            "did you mean 'max_tokens'? choose from: base_url, concurrent, max_tokens, model,",
        ),
        (
            {"chunkers": [{"fixed": {"size": []}}]},
            "line 4, chunkers[0]: chunker 'fixed': size: the list is empty",
            "name a value",
        ),
    ],
)
def test_an_unknown_name_is_refused_with_the_ones_there_are(
    project, refused, changes, problem, hint
):
    project.config(**changes)

    heading, said, remedy = refused()

    assert (heading, said) == (HEADING, f"  {problem}")
    assert remedy.startswith(f"    {hint}")


@pytest.mark.parametrize(
    ("changes", "place", "value"),
    [
        ({"retrieve": "many"}, "line 12, retrieve", "'many'"),
        ({"retrieve": 0}, "line 12, retrieve", "0"),
        ({"retrieve": True}, "line 12, retrieve", "True"),
        ({"retrieve": 4.5}, "line 12, retrieve", "4.5"),
        ({"context": {"tokens": 0}}, "line 14, context.tokens", "0"),
        ({"labels": "answers"}, "line 19, labels", "'answers'"),
        ({"margin": 1.5}, "line 19, margin", "1.5"),
        ({"min_overlap": 0}, "line 19, min_overlap", "0"),
        ({"max_failures": -0.1}, "line 19, max_failures", "-0.1"),
        ({"cost": ["time"]}, "line 20, cost[0]", "'time'"),
        ({"index": {"space": "dot"}}, "line 20, index.space", "'dot'"),
        ({"corpus": 5}, "line 1, corpus", "5"),
        ({"chunkers": [5]}, "line 4, chunkers[0]", "5"),
        ({"chunkers": 5}, "line 3, chunkers", "5"),
        ({"chunkers": []}, "line 3, chunkers", "[]"),
        ({"baseline": "bm25"}, "line 19, baseline", "'bm25'"),
        ({"chunkers": [{"fixed": {"size": 0}}]}, "line 4, chunkers[0]", "0"),
        ({"chunkers": [{"fixed": {"size": "big"}}]}, "line 4, chunkers[0]", "'big'"),
        ({"chunkers": [{"fixed": 5}]}, "line 4, chunkers[0]", "5"),
        ({"metrics": ["recall(labels=words)@2"]}, "line 16, metrics[0]", "'words'"),
        ({"metrics": ["bleu(smoothing=9)"]}, "line 16, metrics[0]", "'9'"),
    ],
)
def test_a_wrong_type_or_range_is_refused_with_its_place_and_the_value(
    project, refused, changes, place, value
):
    project.config(**changes)

    heading, problem = refused()

    assert heading == HEADING
    assert problem.startswith(f"  {place}: ")
    assert problem.endswith(f", not {value}")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"chunkers": [{"fixed": {"size": 200, "overlap": 300}}]},
            "line 4, chunkers[0]: chunker 'fixed': overlap (300) must be smaller than size (200)",
        ),
        (
            {"chunkers": [{"fixed": {"size": True}}]},
            "line 4, chunkers[0]: chunker 'fixed': size: `yes` is no value of it",
        ),
        (
            {"metrics": ["composite(weights=0.5*bleu)"]},
            "line 16, metrics[0]: metric 'composite': weights: they sum to 0.5, and must sum to 1",
        ),
        (
            {"metrics": ["recall@2("]},
            "line 16, metrics[0]: 'recall@2(' is not of the form name(option=value, ...)@k",
        ),
        ({"corpus": {"path": 5}}, "line 1, corpus: the path must be a text, not 5"),
    ],
)
def test_a_component_refuses_parameters_that_do_not_fit_together(
    project, refused, changes, problem
):
    project.config(**changes)

    assert refused() == [HEADING, f"  {problem}"]


def test_all_problems_of_a_file_are_said_at_once_each_with_its_line(project, refused):
    project.config(
        "corpus: nowhere\n"
        "testset: testset.jsonl\n"
        "seeed: 4\n"
        "retrieve: many\n"
        "chunkers:\n"
        "  - fixed: {size: [100, 200], overlap: 150}\n"
        "  - whole\n"
        "  - fixd\n"
        "metrics: [recal@5,\n"
        "  ndcg@0]\n"
    )

    said = refused()

    assert said[0] == HEADING
    assert [line.split(": ")[0].strip() for line in said if line.startswith("  line")] == [
        "line 4, retrieve",
        "line 3, seeed",
        "line 6, chunkers[0]",
        "line 8, chunkers[2]",
        "line 9, metrics[0]",
        "line 10, metrics[1]",
        "line 1, corpus",
    ]
    assert "  line 1, corpus: 'nowhere' does not exist" in said
    # Of the axis [100, 200] only the first value is wrong, and that is said once.
    overlap = "chunker 'fixed': overlap (150) must be smaller than size (100)"
    assert said.count(f"  line 6, chunkers[0]: {overlap}") == 1
    assert not any("200" in line for line in said)
