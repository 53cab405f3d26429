"""Does a run's work on a Ray cluster, indexes and blocks of questions: the only home of Ray.

The machines make what the run's cache lacks, with the code of a run on one machine, and give it
back; then the run goes on as it does on one machine, and finds everything there. So it has one
writer, and one code makes its numbers. What waits on a server, such as a hosted chat model, stays
with the run: pace, budget and failures are counted once.
"""

from __future__ import annotations

import logging
import os
import platform
import secrets
import signal
import socket
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from harness import index
from harness.cache.folders import Cache
from harness.cache.shared import Store
from harness.cache.tables import TableRows
from harness.config.grid import Cell, RunPlan
from harness.config.resolved import RunConfig, embedding_model, model_of
from harness.config.settings import OnRay
from harness.corpus import Corpus, Documents
from harness.errors import HarnessError, MissingExtra, RunError
from harness.files.batches import batched
from harness.fingerprint import fingerprint, identity_of, source_id, versions
from harness.generators import generators
from harness.metrics.named_metrics import NamedMetric
from harness.models import runtime
from harness.models.model_files import weights_id
from harness.models.runtime import processor
from harness.records import Question
from harness.rerankers import rerankers
from harness.runs import provenance
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.cell import cell_outcomes
from harness.runs.loop import BATCH_QUESTIONS
from harness.runs.run_inputs import RunInputs
from harness.store.cell_labels import AXES
from harness.store.run_file import MachineWork

TOKEN, MODE = "RAY_AUTH_TOKEN", "RAY_AUTH_MODE"
_CONNECT_SECONDS, _ANSWER_SECONDS = 5.0, 120.0
"""In which a machine must take a connection, and have said what it is, its libraries loaded."""
_BATCH_DOCUMENTS = 1_024
"""Documents that are sent together."""
_MADE = ("rankings", "reranked", "answers", "traced", "scores", "measures", "replies", "judgements")
"""The tables whose rows go back to the run."""


def import_ray() -> Any:
    """Return Ray; `MissingExtra` where it is not installed."""
    try:
        import ray
    except ImportError:
        raise MissingExtra("execution on a cluster", "ray", "ray") from None
    return ray


@contextmanager
def connect(settings: OnRay) -> Iterator[None]:
    """Be connected to the cluster inside; `RunError` where it does not answer or let us in."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = dict(os.environ)
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    if settings.address == "local":  # and Ray leaves no token on the disk
        os.environ |= {MODE: "token", TOKEN: secrets.token_hex(32)}
    else:  # that a token is wrong is known in seconds; a Ray that is being started may take long
        os.environ["RAY_NUM_REDIS_GET_RETRIES"] = "6"
        if os.environ.get(TOKEN):  # Ray does not look whether the cluster wants it
            os.environ.setdefault(MODE, "token")
    try:  # some of these variables are read while Ray is imported
        ray, address = import_ray(), find_address(settings)
        try:
            _join(ray, address)
            if threading.current_thread() is threading.main_thread():
                for number, handler in handlers.items():  # Ray puts one of its own there
                    signal.signal(number, handler)
            yield
        finally:
            ray.shutdown()
    finally:
        os.environ.clear()
        os.environ.update(before)


def find_address(settings: OnRay) -> str:
    """Return `local`, or the address of a cluster; `RunError` where nobody answers there."""
    address = settings.address
    if address == "auto":
        import_ray()
        from ray._private.services import get_ray_address_from_environment

        try:
            address = str(get_ray_address_from_environment("auto", None))
        except ConnectionError:
            raise RunError(
                "execution: no Ray cluster was found: RAY_ADDRESS is not set, and none runs on "
                "this machine\n  name one, `address: HOST:PORT`, or start one of this run's own: "
                "`address: local`"
            ) from None
    host, _, port = address.rpartition(":")
    try:  # Ray would take half a minute to find out that nobody answers.
        if host:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, ValueError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise RunError(
            f"execution: no Ray cluster answers at {address}: {why}\n"
            "  is it the address that `ray start --head` showed, and may this machine reach it?"
        ) from None
    return address


def _join(ray: Any, address: str) -> None:
    options = {"include_dashboard": False} if address == "local" else {}
    # Ray tells of processes that die on standard output, where the results go.
    ray._private.worker.print_to_stdstream = lambda data, ignore_prefix: None
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as error:  # noqa: BLE001  Ray says it in many ways
        failure = "Ray could not be started"
        remedy = "see that this machine has room and memory, or run without it: execution=local"
        if address != "local":
            failure = f"the cluster at {address} does not let this run in"
            remedy = f"give the cluster's own token in {TOKEN}; is it of the same Ray and Python?"
        text = " ".join(str(error).split()) or type(error).__name__
        raise RunError(f"execution: {failure}: {text}\n  {remedy}") from None


def gpu_share() -> float:
    """Return how much of a graphics card each piece of work asks for; 0: it sees none.

    Numbers made on a card are other numbers, so either all machines use theirs or none does: what
    the run's own machine has decides.
    """
    return 1 / 16 if processor.device() == "cuda" else 0


def usable_nodes() -> list[Mapping[str, Any]]:
    """Return the machines, as Ray has them, that can make the numbers of the run's own."""
    needed = {"CPU", "GPU"} if gpu_share() else {"CPU"}
    nodes = [
        node
        for node in import_ray().nodes()
        if node["Alive"] and needed <= {kind for kind, size in node["Resources"].items() if size}
    ]
    if not nodes:
        lacking = "graphics card, as the run's own has" if gpu_share() else "processor"
        raise RunError(
            f"execution: no machine of the cluster has a {lacking}\n"
            "  start machines of one kind, or the run on one like those there are"
        )
    return nodes


def check_nodes(nodes: Iterable[Mapping[str, Any]], store: Store, parts: Sequence[Any]) -> None:
    """Ask every machine, all at once; raise `RunError` with all that stands against any of them."""
    ray, canary = import_ray(), f"canary-{secrets.token_hex(8)}"
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # Another version may be unable to read the parts: so there is a reference to them.
    asked = (store, canary, [ray.put([*parts])])
    task = ray.remote(num_cpus=0, num_gpus=gpu_share(), max_retries=0)(collect_facts)
    replies, problems = {}, []
    try:
        with tempfile.TemporaryDirectory() as empty:
            store.put(canary, Path(empty))
        for node in nodes:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            replies[node["NodeName"]] = task.options(scheduling_strategy=there).remote(*asked)
        own = collect_facts(*asked)
        for name, reply in replies.items():
            try:
                facts = ray.get(reply, timeout=_ANSWER_SECONDS)
                problems += [
                    f"{name}: {fact} is {facts.get(fact)} there, {own.get(fact)} here"
                    for fact in sorted({*own, *facts})
                    if facts.get(fact) != own.get(fact)
                ]
            except ray.exceptions.RayError as error:
                why = " ".join(str(getattr(error, "cause", None) or error).split())
                problems.append(f"{name}: cannot do this run's work: {why}")
        store.remove(canary)
    except OSError as error:
        raise RunError(
            f"shared store {store.url!r} cannot be reached, or not be written: {error.strerror}\n"
            "  see that the address is right and that this machine may write there"
        ) from None
    if problems:
        raise RunError(
            "execution: machines of the cluster cannot do this run's work; nothing was spent\n  "
            + "\n  ".join(problems)
            + "\n  install the same versions, put models in the same places, and name a `store` "
            "that every machine reaches"
        )


def collect_facts(store: Store, canary: str, parts: Sequence[Any]) -> dict[str, str | None]:
    """Return what this machine is: versions, whether it sees the store, and what each part is."""
    facts = versions(*provenance.PACKAGES, "fsspec", "ray")
    facts |= {"python": platform.python_version(), "harness, by its source,": source_id()}
    facts[f"the store {store.url!r}"] = "shared" if store.has(canary) else "not shared"
    for number, part in enumerate(import_ray().get(parts[0])):
        tokenizer = getattr(part, "tokenizer", None)
        about = [identity_of(part), tokenizer and weights_id(tokenizer)]
        facts[f"model {number}, of {part.name},"] = fingerprint(about)
    return facts


@dataclass(frozen=True)
class Job:
    """One run, as far as other machines need it; a process there has a cache of its own for it.

    Relative paths lead from `folder`, and `path` is where modules of the user's own are looked for.
    `documents` are references.
    """

    store: Store
    scratch: str | None
    fresh: bool
    folder: str
    path: Sequence[str]
    corpus: str
    documents: Sequence[Any]
    plan: RunPlan
    questions: Sequence[Question]

    @cached_property
    def cache(self) -> Cache:
        """The cache of this process, with the store behind it, once the process is as the run's."""
        with suppress(OSError):
            os.chdir(self.folder)
        sys.path.extend(folder for folder in self.path if folder not in sys.path)
        user = os.getuid() if hasattr(os, "getuid") else 0
        root = Path(self.scratch or tempfile.gettempdir()) / f"harness-{user}"
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if root.stat().st_uid != user:
            remedy = "name another: `scratch: FOLDER` in `execution`"
            raise RunError(f"the folder {str(root)!r} belongs to somebody else\n  {remedy}")
        runtime.keep_in(root)
        return Cache(root, self.fresh, self.store, recording=_MADE)

    @cached_property
    def artefacts(self) -> Artefacts:
        """What the cells of the run share."""
        documents = Documents()
        for reference in self.documents:
            for document in import_ray().get(reference):
                documents.add(document)
        return Artefacts(Corpus(documents, self.corpus), self.cache, self.plan, self.questions)


@dataclass(frozen=True)
class Task:
    """A piece of work: questions from `start` to `stop` in `cells`, each scored by its metrics.

    They share the ranking of `first`. Without cells it is the index that this one searches. `key`
    is what it is known by once it is done.
    """

    name: str
    first: Cell
    cells: Mapping[Cell, Sequence[NamedMetric]]
    start: int
    stop: int
    key: str


@dataclass(frozen=True)
class TaskResult:
    """What a task made, where, in how many seconds by stage; `error` is meant for the user."""

    node: str
    seconds: Mapping[str, float]
    made: Sequence[TableRows] = ()
    error: str = ""


def run_task(job: Sequence[Any], task: Task) -> TaskResult:
    """Do a task in this process of the cluster; `job` holds a reference, to be fetched once."""
    node = import_ray().get_runtime_context().get_node_id()
    try:
        run = _fetch_job(job[0])
        artefacts, first = run.artefacts, task.first
        before = Counter(artefacts.ledger.seconds)
        if not task.cells and first.embedder is not None:
            artefacts.open_index(first, first.embedder)  # which puts it into the store
            artefacts.measure_index(first)
        for cell, metrics in task.cells.items():
            plan = replace(run.plan, metrics=metrics)
            plan.__dict__["kinds"] = run.plan.kinds  # a cached property: what is relevant
            for _ in cell_outcomes(cell, run.questions[task.start : task.stop], artefacts, plan):
                pass
        seconds = Counter(artefacts.ledger.seconds) - before
        return TaskResult(node, seconds, run.cache.recorded())
    except (HarnessError, OSError) as error:
        return TaskResult(node, {}, error=str(error) or type(error).__name__)


@cache
def _fetch_job(reference: Any) -> Job:
    """Return the run of this process: Ray starts other processes for another run."""
    job: Job = import_ray().get(reference)
    return job


@contextmanager
def open_machines(config: RunConfig, settings: OnRay, fresh: bool) -> Iterator[Machines]:
    """Give the machines of a cluster, and the store that they share."""
    url = settings.store or os.path.abspath(config.cache / "shared")
    if fresh:  # nothing that was there before is found in a place of its own
        url = f"{url.rstrip('/')}/fresh-{secrets.token_hex(8)}"
    store = Store(url)
    try:
        with connect(settings):
            yield Machines(settings, store, fresh, usable_nodes())
    finally:
        if fresh:  # no other run finds it
            with suppress(OSError):
                store.remove()


@dataclass(frozen=True)
class Machines:
    """The machines of a cluster, as Ray has them, and the store that they share."""

    settings: OnRay
    store: Store
    fresh: bool
    nodes: Sequence[Mapping[str, Any]]

    def work(
        self, prepared: RunInputs, artefacts: Artefacts, cache: Cache, progress: Progress
    ) -> list[MachineWork]:
        """Do what can be done elsewhere, and return what ran where."""
        ray = import_ray()
        cpus, cards = (
            int(sum(node["Resources"].get(kind, 0) for node in self.nodes))
            for kind in ("CPU", "GPU")
        )
        # What was done before is not sent again; should its rows be gone, the run makes them.
        finished = cache.table("cluster", bool, {"of": "tasks"}, counted=False)
        blocks = [t for t in _blocks(prepared, artefacts, cpus) if not finished.get([t.key])]
        if not blocks:
            return []
        indexes = _indexes(blocks, prepared, artefacts, cache)
        parts = dict.fromkeys(
            part
            for cell, metrics in chain.from_iterable(block.cells.items() for block in blocks)
            for part in (
                *(getattr(cell, axis) for axis in AXES),
                *(named.metric for named in metrics if hasattr(named.metric, "identity")),
            )
        )
        check_nodes(self.nodes, self.store, list(filter(None, parts)))
        documents = batched(prepared.corpus.documents.values(), _BATCH_DOCUMENTS)
        job = Job(
            store=self.store,
            scratch=self.settings.scratch,
            fresh=self.fresh,
            folder=os.getcwd(),
            path=tuple(sys.path),
            corpus=prepared.corpus.id,
            documents=[ray.put(batch) for batch in documents],
            plan=prepared.plan,
            questions=prepared.testset.questions,
        )
        sent, share = [ray.put(job)], gpu_share()
        encoders = self.settings.encoders or (cards if share else len(self.nodes))
        names = {node["NodeID"]: node["NodeName"] for node in self.nodes}
        seconds, done = defaultdict[tuple[str, str], list[float]](list), Counter[str]()
        for task, result in chain(
            _results(sent, indexes, encoders, 1 if share else 0),
            _results(sent, blocks, len(blocks), share),
        ):
            node = names.get(result.node, "another")
            if result.error:
                raise RunError(f"machine {node}: {result.error}")
            for stage, spent in result.seconds.items():
                seconds[stage, node].append(spent)
            cache.adopt(result.made)
            finished.put({task.key: True})
            done[task.name] += task.stop - task.start
            total = len(job.questions) if task.cells else 1
            progress(f"{task.name}, on the cluster", done[task.name], total)
        return [
            MachineWork(stage=stage, node=node, tasks=len(spent), seconds=sum(spent))
            for (stage, node), spent in seconds.items()
        ]


def _results(
    job: Sequence[Any], tasks: Iterable[Task], at_once: int, gpus: float
) -> Iterator[tuple[Task, TaskResult]]:
    """Yield each task with its result as it is done; Ray does it again, three times, if it dies."""
    ray, waiting, running = import_ray(), iter(tasks), dict[Any, Task]()
    function = ray.remote(num_cpus=1, num_gpus=gpus, scheduling_strategy="SPREAD")(run_task)
    while True:
        for task in islice(waiting, at_once - len(running)):
            running[function.remote(job, task)] = task
        if not running:
            return
        (reference, *_), _ = ray.wait(list(running), num_returns=1)
        task = running.pop(reference)
        with explain_crashes(task.name):
            result = ray.get(reference)
        yield task, result


@contextmanager
def explain_crashes(work: str) -> Iterator[None]:
    """Turn the death of processes into a `RunError`; a fault of the harness keeps its traceback."""
    errors = import_ray().exceptions
    try:
        yield
    except errors.RayTaskError:
        raise
    except errors.RayError as error:
        raise RunError(
            f"{work}: a process of the cluster died each time it was tried: "
            f"{str(error).strip().splitlines()[0]}\n"
            "  what was done is kept, and the same command continues; does it need more memory?"
        ) from None


def _blocks(prepared: RunInputs, artefacts: Artefacts, cpus: int) -> Iterator[Task]:
    questions, plan = prepared.testset.questions, prepared.plan
    local = [named for named in plan.metrics if not replace(plan, metrics=[named]).asks_judge]
    groups: dict[Cell, dict[Cell, Sequence[NamedMetric]]] = {}
    for cell in prepared.config.cells:
        for first, part in _part_elsewhere(cell, prepared.config):
            groups.setdefault(first, {})[part] = local if part == cell else ()
    size = max(1, -(-len(questions) // (cpus * BATCH_QUESTIONS))) * BATCH_QUESTIONS
    for first, cells in groups.items():
        about = [
            [artefacts.identity(cell), [[m.name, identity_of(m.metric)] for m in metrics]]
            for cell, metrics in cells.items()
        ]
        for start in range(0, len(questions), size):
            texts = [question.text for question in questions[start : start + size]]
            key = fingerprint(about, texts, source_id())
            yield Task(first.name, first, cells, start, start + len(texts), key)


def _indexes(
    blocks: Iterable[Task], prepared: RunInputs, artefacts: Artefacts, cache: Cache
) -> list[Task]:
    """Return the indexes that blocks search; what is here, chunks too, goes into the store."""
    tasks: dict[str, Task] = {}
    for cell in dict.fromkeys(block.first for block in blocks):
        embedder, labels = cell.embedder, cell.labels()
        artefacts.hit_chunks(cell.chunker)
        if embedder is not None and cell.retriever.uses_vectors:
            about = artefacts.index_identity(cell.chunker, embedder)
            if cache.there(index.KIND, about):
                artefacts.open_index(cell, embedder)
            name = f"indexing {labels['chunker']} with {labels['embedder']}"
            key = fingerprint(about)
            tasks.setdefault(key, Task(name, cell, {}, 0, 1, key))
    return list(tasks.values())


def _part_elsewhere(cell: Cell, config: RunConfig) -> Iterator[tuple[Cell, Cell]]:
    """Yield the cell that makes the ranking, and as much of this one as asks no server."""
    embedder, retriever = cell.embedder, cell.retriever
    paid = embedder is not None and embedding_model(embedder) is not None
    place = config.settings.index
    served = place.remote is not None and retriever.uses_vectors
    if not (paid or served or _asks_server(retriever) or place.existing is not None):
        first = replace(cell, reranker=rerankers.build("none"), generator=generators.build("none"))
        if cell.reranker.name == "langchain":
            yield first, first
        elif _asks_server(cell.generator):
            yield first, replace(cell, generator=first.generator)
        else:
            yield first, cell


def _asks_server(part: object) -> bool:
    return (chat := model_of(part)) is not None and chat.file is None
