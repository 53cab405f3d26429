"""What a run takes of memory and disk is estimated, and held against what is free."""

from pathlib import Path

from harness.config.run_config import load
from harness.corpus import load as load_corpus
from harness.preflight.room import check_disk, check_memory, dimensions, estimate_size
from harness.preflight.services import used_services

GIGA = 1_000_000_000


def test_memory_and_disk_are_held_against_what_is_planned():
    assert check_memory(8 * GIGA, 20 * GIGA).status == "ok"
    assert check_memory(8 * GIGA, 9 * GIGA).status == "warning"
    tight = check_memory(8 * GIGA, 7 * GIGA)
    assert (tight.status, tight.text) == (
        "problem",
        "7.0 GB of memory are free, and the run takes about 8.0 GB",
    )
    sizes = [(None, 5), (3, 5), (3, 3.5), (3, 2), (None, 0.5)]
    said = [
        check_disk(Path(), takes and takes * GIGA, int(free * GIGA)).status for takes, free in sizes
    ]
    assert said == ["ok", "ok", "warning", "problem", "warning"]
    assert check_memory(None, None).status == "ok"


def test_what_is_planned_follows_its_formula(project):
    config = load(
        project.config(
            chunkers=[{"fixed": {"size": 50, "overlap": 10}}],
            index={"max_neighbors": 20},
            output=str(project.folder / "reports"),
        ),
        [],
        {},
    )
    size = sum(each.stat().st_size for each in project.folder.glob("corpus/*"))
    chunks = int(size / (0.5 * 40)) + 2

    found = estimate_size(config, used_services(config))

    assert found.memory == 270_000_000 + 4 * size + chunks * (4 * 64 + 8 * 20 + 340)
    assert found.cache == chunks * (12 * 64 + 8 * 20 + 1_200 + 24)
    assert found.output == 3 * (400 + 410 * 4)
    assert found.text.startswith("planned: up to 2 documents of 0.0 MB, up to about ")


def test_the_estimate_of_chunks_bounds_those_of_the_shipped_corpus():
    config = load(Path("config.yaml"), [], {})
    corpus = load_corpus(config.corpus)
    chunkers = dict.fromkeys(cell.chunker for cell in config.cells)
    texts = [document.text for document in corpus.documents.values()]
    most = max(sum(len(list(chunker.split(text))) for text in texts) for chunker in chunkers)

    said = estimate_size(config, used_services(config)).text

    estimated = int(said.split("up to about ")[1].split(" chunks")[0].replace(",", ""))
    assert most <= estimated <= 3 * most
    assert "180 questions, 6 cells" in said
    assert {dimensions(cell.embedder) for cell in config.cells if cell.embedder} == {384}
