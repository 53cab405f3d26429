"""The command line: what each verb prints, where, and with which exit status."""

import json
import re
import subprocess
import sys

import pytest

from harness import __version__
from harness.cli.catalogue import FAMILIES

HEAVY = "torch sentence_transformers transformers chromadb langchain langchain_core bert_score"


def in_a_process(*arguments, code=None):
    """Run the command line, or some code, in a process of its own."""
    command = ["-c", code] if code else ["-m", "harness"]
    return subprocess.run(
        [sys.executable, *command, *arguments], capture_output=True, text=True, timeout=60
    )


def imported_by(*arguments):
    """Return the top-level modules that a command imports, itself included."""
    code = (
        "import sys\n"
        "from harness.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)\n"
    )
    done = in_a_process(*arguments, code=code)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["list"], ["list", "metrics"], ["schema"], ["validate", "config.yaml"]],
    ids=" ".join,
)
def test_no_model_library_is_loaded_to_answer(project, arguments):
    project.config(metrics=["passage_recall@2", "bertscore_f1"], embedders=None)

    loaded = imported_by(*arguments)

    assert "typer" in loaded
    assert not loaded & set(HEAVY.split())


def test_help_alone_loads_no_other_part_of_the_harness(project):
    assert not imported_by("--help") & {"pydantic", "numpy", "yaml", "rich"}


def test_version_prints_the_version(cli):
    assert cli("--version").out == f"{__version__}\n"


def test_help_names_every_verb_by_what_it_is_for_and_cuts_no_sentence(cli):
    said = cli("--help")
    groups = {}
    for line in said.out.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            verbs = groups.setdefault(line[:-1], [])
        elif groups and re.match(r"  [a-z]+  ", line):
            verbs.append(line.split()[0])

    assert said.status == 0
    assert {name: verbs for name, verbs in groups.items() if name != "Options"} == {
        "Run": ["run", "validate", "report", "init"],
        "Judge": ["evaluate", "score", "judge"],
        "Compare": ["compare", "gate", "history", "baseline"],
        "Data": ["import", "export", "extract", "draft"],
        "People": ["rate", "pool"],
        "Machine": ["list", "schema", "doctor", "cache"],
    }
    assert "..." not in said.out.partition("\n")[2]
    assert cli("-h").out == said.out


@pytest.mark.parametrize("verb", ["run", "draft", "baseline", "cache"])
def test_help_is_asked_for_in_short_of_every_verb(cli, verb):
    assert cli(verb, "-h") == cli(verb, "--help")
    assert "..." not in cli(verb, "-h").out.partition("\n")[2].replace("RUN...", "")


def test_a_folder_stands_for_the_configuration_in_it(project, cli):
    project.config()

    assert cli("validate", ".").out.splitlines()[0] == "config.yaml is valid"
    (project.folder / "config.yaml").unlink()
    assert cli("validate", ".").status == 2


def test_list_names_every_component_of_every_family_with_a_line(cli):
    said = cli("list")

    blocks = [block.splitlines() for block in said.out.strip().split("\n\n")]
    assert {block[0].split()[0] for block in blocks} == set(FAMILIES)
    for head, *lines in blocks:
        rows = [line for line in lines if not line.startswith(" ")]
        assert [row.split()[0] for row in rows] == list(FAMILIES[head.split()[0]])
        assert all(len(row.split()) > 3 for row in rows)


def test_a_family_that_is_not_there_is_refused_with_those_that_are(cli):
    said = cli("list", "metric")

    assert (said.status, said.out) == (2, "")
    assert said.err == (
        "unknown family 'metric'\n"
        "  did you mean 'metrics'? choose from: chunkers, corpora, embedders, generators, metrics, "
        "rerankers, retrievers, systems, testsets\n"
    )


def test_validate_says_what_the_configuration_will_do(project, cli):
    project.config(retrievers=["dense", "bm25"])

    said = cli("validate", "config.yaml")

    assert said.status == 0
    assert said.out.splitlines() == [
        "config.yaml is valid",
        "corpus: 2 documents",
        "test set: 3 questions, 1 unanswerable; judged by evidence",
        "",
        "grid: 2 cells",
        "  - sentence × hashing(dimensions=64) × dense × extractive",
        "  - sentence × bm25 × extractive",
        "",
        "to do: 2 documents; 2 chunks; 2 chunks and 3 questions to embed with "
        "hashing(dimensions=64)",
    ]
    assert project.written() == []


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("dense", None),
        ("markdown × hashing × dense × extractive", None),
        ("markdown", "baseline: 'markdown' may be any of 2 cells"),
        ("hybrid", "baseline: no cell is 'hybrid'"),
    ],
)
def test_the_baseline_may_be_named_by_the_label_of_a_cell(project, cli, named, said):
    project.config(chunkers=["markdown"], retrievers=["dense", "bm25"], baseline=named)
    result = cli("validate", "config.yaml")

    assert result.status == (0 if said is None else 2)
    assert said is None or said in result.err


def test_progress_goes_to_stderr_in_plain_lines_and_results_to_stdout(project):
    done = in_a_process("run", "config.yaml")

    assert done.returncode == 0
    few = "warning: 2 questions of 3 that passage_recall@2 judges are few"
    assert done.stderr.splitlines() == [
        few,
        "to do: 2 documents; 2 chunks; 2 chunks and 3 questions to embed with "
        "hashing(dimensions=64)",
        "embedding sentence with hashing(dimensions=64): 2 of 2",
        "sentence × hashing(dimensions=64) × dense × extractive: 3 of 3",
    ]
    out = done.stdout.splitlines()
    few = "no interval: n = 2 is under 6, n = 2, 1 unanswerable"
    assert f"Ranked by passage_recall@2, {few}" in out
    assert re.match(r"passage_recall@2 +1\.000", next(x for x in out if "recall" in x[:15]))
    (folder,) = project.folder.glob("reports/*/")
    assert out[-3:] == [
        f"report: reports/{folder.name}/report.html",
        f"report: reports/{folder.name}/report.md",
        "all runs: reports/index.html",
    ]
    assert not re.search(r"\x1b|\r", done.stdout + done.stderr)


def test_json_prints_the_run_and_its_cells_as_stored(project, cli):
    said = cli("run", "config.yaml", "--json")

    printed = json.loads(said.out)
    stored = json.loads((project.folder / printed["run"] / "run.json").read_text("utf-8"))
    assert (said.status, printed["status"]) == (0, "finished")
    assert printed["cells"] == stored["cells"]
    assert printed["cells"][0]["scores"]["abstention"]["n"] == 3


def test_limit_asks_only_the_first_questions(project, cli):
    printed = json.loads(cli("run", "config.yaml", "--limit", "2", "--json").out)

    (path,) = project.folder.glob("reports/*/records.jsonl")
    asked = [json.loads(line)["question"] for line in path.read_text("utf-8").splitlines()]
    assert asked == ["q1", "q2"]
    assert printed["cells"][0]["asked"] == 2


REPORTS = ("report.html", "report.md")


@pytest.mark.parametrize("folder", ["corpus", "nowhere"])
def test_report_of_a_folder_without_a_run_is_refused(project, cli, folder):
    said = cli("report", folder)

    assert (said.status, said.out) == (2, "")
    assert said.err.splitlines() == [
        f"{folder} cannot be read:",
        "  run.json: is not there",
        "    name the folder of one run, such as reports/20260101-010203-abcdef",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "No such command 'nonsense'."),
        (["run"], "Missing argument 'config'."),
        (["run", "config.yaml", "--limit", "0"], "Invalid value for '--limit'"),
        (["run", "config.yaml", "--nonsense"], "No such option: --nonsense"),
    ],
)
def test_a_mistyped_command_ends_with_2_and_says_what_is_wrong(project, cli, arguments, said):
    done = cli(*arguments)

    assert (done.status, done.out) == (2, "")
    assert said.lower() in done.err.lower()  # typer 0.26.0 has the name in capitals
