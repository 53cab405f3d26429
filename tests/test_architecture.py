"""The layers drawn in docs/architecture.md, enforced: a module imports only from lower layers."""

import ast
from pathlib import Path

import pytest

LAYERS = """
arguments bands batches boundedyaml checksums dcg declines described execution fingerprint
formulas headings interrupts locate locks markup needs normalform numbers openfile printable
prompts records sentences shortening slots squad stamped stopwords streams tokens
clusters context covering cuts documents errors facts fusion labels ranked references removal rows
sampling spans statistics stored
calls columns coverage dotted exact filters frames jsonl layouts lengths lines losses models
parquet paths project quantities registry relevance retrying rules sealed told trec unheard
wholefile writing yamlfile
answer_labels attribution embedding_class foreign holding jsonreply named_corpus newfiles ondisk
prices reach rewriting runtime shared unindexed usercode wholereply
attribution_systems cache chat embedders endpoint spending store token_match
chunkers converting generators housekeeping judging orders rephrasing rerankers runwriter
stored_judge system_replies systems triplets vectors
chat_replies corpus exporting filledin metrics terminal_cache
answertest chunking handed incomplete kept matching scoring testset
answers evaluation imported_metrics index judge_check people pools replayed rescorable retrievers
sources summarise traffic
comparing extraction imported_answers imported_runs importing library searched settings sweep
agreement baselines catalogue framed history overrides places plan underway
cautions config stages
asked_models asking checks drafting prepared provenance tracing
findings pipeline summing
cluster oracle
doctor forecast report
gate ratings rescore running summary terminal_history
library_runs runner terminal
cli
__main__
"""
NEVER = {("pipeline", "store"), ("pipeline", "report"), ("store", "pipeline"), ("report", "stages")}
ONLY_IN = {
    "chromadb": {"index"},
    "sqlite3": {"rows"},
    "fcntl": {"locks"},
    "torch": {"runtime"},
    "openvino": {"runtime"},
    "sentence_transformers": {"runtime"},
    "transformers": {"models"},
    "tokenizers": {"models", "runtime"},
    "huggingface_hub": {"models"},
    "bert_score": {"token_match"},
    "nltk": {"metrics"},
    "sacrebleu": {"metrics"},
    "rouge_score": {"metrics"},
    "bm25s": {"retrievers"},
    "langchain": {"chat"},
    "langchain_core": {"chat", "embedding_class", "rerankers", "systems"},
    "xllamacpp": {"chat"},
    "markitdown": {"converting"},
    "pypdfium2": {"converting"},
    "lxml": {"converting"},
    "wordllama": {"embedders"},
    "model2vec": {"embedders"},
    "tenacity": {"retrying"},
    "httpx": {"endpoint", "index"},
    "jsonpath": {"jsonreply"},
    "pyarrow": {"parquet"},
    "ray": {"cluster"},
    "cloudpickle": {"cluster"},
    "fsspec": {"shared"},
    "pydantic_core": {"ratings", "wholefile"},
    "langchain_text_splitters": {"chunkers"},
    "rapidfuzz": {"locate"},
    "yaml": {"boundedyaml", "yamlfile"},
    "jinja2": {"report"},
    "altair": {"report"},
    "vl_convert": {"report"},
    "rich": {"terminal"},
    "typer": {"cli"},
    "packaging": {"doctor"},
    "pandas": {"evaluation", "frames"},
}
FAMILIES = (
    "chunkers",
    "embedders",
    "retrievers",
    "rerankers",
    "generators",
    "metrics",
    "corpus",
    "systems",
)
ROOT = Path(__file__).parent.parent / "harness"
LAYER = {name: depth for depth, row in enumerate(LAYERS.split("\n")) for name in row.split()}
FILES = sorted(ROOT.rglob("*.py"))


def part(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Return every module that `path` imports, wherever in the file it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module)
            if node.module == "harness":
                found |= {f"harness.{alias.name}" for alias in node.names}
    return found


def test_every_part_has_a_layer_and_every_layer_names_a_part():
    parts = {part(path) for path in FILES} - {"__init__"}

    assert parts == set(LAYER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_from_its_own_part_or_a_lower_layer(path):
    if part(path) == "__init__":
        return  # it names the library's functions, and imports them only when they are asked for
    for module in imported(path):
        if not module.startswith("harness.") or module == "harness.__version__":
            continue
        other = module.split(".")[1]
        lower = other == part(path) or LAYER[other] < LAYER[part(path)]
        assert lower, f"{part(path)} imports {other}, which is not in a lower layer"
        assert (part(path), other) not in NEVER, f"{part(path)} must not know {other}"


@pytest.mark.parametrize("family", FAMILIES)
def test_components_of_a_family_never_import_one_another(family):
    for path in (ROOT / family).glob("*.py"):
        siblings = {m for m in imported(path) if m and m.startswith(f"harness.{family}.")}
        assert not siblings, f"{path.name} imports {siblings}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_library_has_one_home(path):
    for module in imported(path):
        homes = ONLY_IN.get(module.split(".")[0])
        assert homes is None or part(path) in homes, f"{module} belongs in {homes}"
