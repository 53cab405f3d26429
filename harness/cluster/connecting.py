"""Joining a Ray cluster, or starting a Ray of our own."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from harness.errors import MissingExtra, RunError
from harness.execution import OnRay

TOKEN, MODE = "RAY_AUTH_TOKEN", "RAY_AUTH_MODE"
_PATIENCE = 5.0
"""Seconds in which a machine must take a connection."""
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Nothing is told to Ray's makers."""
_SOON = {**_QUIET, "RAY_NUM_REDIS_GET_RETRIES": "6"}
"""And that a token is wrong is known in seconds; a Ray that is only being started may take long."""
_PAUSE = 2.0
"""Seconds until a Ray of our own is started once more; two started at one moment may both fail."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def connected(settings: OnRay) -> Iterator[None]:
    """Be connected to the cluster inside.

    Raises:
        MissingExtra: Ray is not installed.
        RunError: nobody answers at the address, or does not let us in.
    """
    handlers = {each: signal.getsignal(each) for each in _SIGNALS}
    with _environment(_ours(settings.address)):  # some of it is read while Ray is imported
        ray = imported()
        address = answering(settings)
        try:
            _join(ray, address)
            if threading.current_thread() is threading.main_thread():
                for each, handler in handlers.items():  # Ray puts one of its own there
                    signal.signal(each, handler)
            yield
        finally:
            ray.shutdown()


def imported() -> Any:
    """Return Ray; `MissingExtra` where it is not installed."""
    try:
        import ray
    except ImportError:
        raise MissingExtra("execution on a cluster", "ray", "ray") from None
    return ray


def answering(settings: OnRay) -> str:
    """Return `local`, or the address of a cluster, at which somebody answers.

    Raises:
        MissingExtra: Ray is not installed, and it has to look for a cluster.
        RunError: there is no cluster, or nobody answers.
    """
    address = _found() if settings.address == "auto" else settings.address
    _look(address)
    return address


def _found() -> str:
    """Return what RAY_ADDRESS names, or the cluster that this machine is of."""
    imported()
    from ray._private.services import get_ray_address_from_environment

    try:
        return str(get_ray_address_from_environment("auto", None))
    except ConnectionError:
        raise RunError(
            "execution: no Ray cluster was found: RAY_ADDRESS is not set, and none runs on this "
            "machine\n  name one, `address: HOST:PORT`, or start one of this run's own: "
            "`address: local`"
        ) from None


def _look(address: str) -> None:
    """Find out in seconds what Ray would take half a minute for: that nobody answers."""
    host, _, port = address.rpartition(":")
    if not host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, ValueError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise RunError(
            f"execution: no Ray cluster answers at {address}: {why}\n"
            "  is it the address that `ray start --head` showed, and may this machine reach it?"
        ) from None


def _ours(address: str) -> Mapping[str, str]:
    """Return the environment in which Ray neither calls home nor leaves a token on the disk."""
    if address == "local":
        return {**_QUIET, MODE: "token", TOKEN: secrets.token_hex(32)}
    # By an address Ray does not look whether the cluster wants the token that is there.
    wants = os.environ.get(TOKEN) and MODE not in os.environ
    return {**_SOON, MODE: "token"} if wants else _SOON


def _join(ray: Any, address: str) -> None:
    own = {"include_dashboard": False} if address == "local" else {}
    # Ray tells of processes that die on standard output, where the results go.
    ray._private.worker.print_to_stdstream = lambda data, ignore_prefix: None
    for last in (False, True) if own else (True,):
        try:
            with _silent():
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
        except BaseException as error:
            _end_started(error)
            ray.shutdown()
            if not isinstance(error, Exception):
                raise
            if last:
                raise RunError(_refused(address, error)) from None
            time.sleep(_PAUSE)
        else:
            return


def _end_started(error: BaseException) -> None:
    """End and reap what Ray had started when it failed: it forgets that itself."""
    from ray._private.node import Node

    for frame, _ in traceback.walk_tb(error.__traceback__):
        node = frame.f_locals.get("self")
        if isinstance(node, Node):
            node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
            return


def _refused(address: str, error: Exception) -> str:
    said = str(error).strip().splitlines() or [type(error).__name__]
    if address == "local":
        return (
            f"execution: Ray could not be started: {said[0]}\n"
            "  see that this machine has room and memory, or run without it: execution=local"
        )
    if "version" in str(error).lower() and "mismatch" in str(error).lower():
        return (
            f"execution: the cluster at {address} is of another Ray or Python: {' '.join(said)}\n"
            "  install the same on every machine"
        )
    return (
        f"execution: the cluster at {address} does not let this run in: {said[0]}\n"
        f"  give the cluster's own token in {TOKEN}, and look at the cluster's own log"
    )


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


@contextmanager
def _silent() -> Iterator[None]:
    """Keep what Ray's own library prints off the terminal: what matters comes as an error."""
    sys.stderr.flush()
    before = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)
