"""Connects to a Ray cluster or starts a local one, and checks that its machines are alike."""

from __future__ import annotations

import logging
import os
import platform
import secrets
import signal
import socket
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.cache.shared import Store
from harness.config.execution import OnRay
from harness.errors import MissingExtra, RunError
from harness.fingerprint import fingerprint, identity_of, source_id, versions
from harness.models.model_files import weights_id
from harness.models.runtime import processor, runtime_choice
from harness.runs import provenance

TOKEN, MODE = "RAY_AUTH_TOKEN", "RAY_AUTH_MODE"
_CONNECT_SECONDS = 5.0
"""Seconds in which a machine must take a connection."""
_ANSWER_SECONDS = 120.0
"""Seconds in which a machine must have said what it is: its libraries may have to load."""
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Nothing is told to Ray's makers."""
_FAIL_FAST = {**_QUIET, "RAY_NUM_REDIS_GET_RETRIES": "6"}
"""And that a token is wrong is known in seconds; a Ray that is only being started may take long."""


def import_ray() -> Any:
    """Return Ray; `MissingExtra` where it is not installed."""
    try:
        import ray
    except ImportError:
        raise MissingExtra("execution on a cluster", "ray", "ray") from None
    return ray


@contextmanager
def connect(settings: OnRay) -> Iterator[None]:
    """Be connected to the cluster inside.

    Raises:
        MissingExtra: Ray is not installed.
        RunError: nobody answers at the address, or does not let us in.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = dict(os.environ)
    os.environ |= _QUIET if settings.address == "local" else _FAIL_FAST
    if settings.address == "local":  # and Ray leaves no token on the disk
        os.environ |= {MODE: "token", TOKEN: secrets.token_hex(32)}
    elif os.environ.get(TOKEN):  # by an address Ray does not look whether the cluster wants it
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
    """Return `local`, or the address of a cluster, at which somebody answers.

    Raises:
        MissingExtra: Ray is not installed, and it has to look for a cluster.
        RunError: there is no cluster, or nobody answers.
    """
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
    """Return the machines, as Ray has them, that can make the numbers of the run's own.

    Raises:
        RunError: there is none.
    """
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
    asked = (store, canary, [ray.put([*parts])], runtime_choice.used_choices())
    task = ray.remote(num_cpus=0, num_gpus=gpu_share(), max_retries=0)(collect_facts)
    replies, problems = {}, []
    try:
        with tempfile.TemporaryDirectory() as folder:
            store.put(canary, Path(folder))
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


def collect_facts(
    store: Store, canary: str, parts: Sequence[Any], choices: Any
) -> dict[str, str | None]:
    """Return what this machine is: versions, whether it sees the store, and what each part is."""
    runtime_choice.adopt(choices)
    facts = versions(*provenance.PACKAGES, "fsspec", "ray")
    facts |= {"python": platform.python_version(), "harness, by its source,": source_id()}
    with tempfile.TemporaryDirectory() as folder:
        shared = store.get(canary, Path(folder), lambda: True)
        facts[f"the store {store.url!r}"] = "shared" if shared else "not shared"
    for number, part in enumerate(import_ray().get(parts[0])):
        tokenizer = getattr(part, "tokenizer", None)
        about = [identity_of(part), tokenizer and weights_id(tokenizer)]
        facts[f"model {number}, of {part.name},"] = fingerprint(about)
    return facts
