"""A real Ray cluster on the loopback device: a head and machines of its own, with its own token."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

START = (sys.executable, "-m", "ray.scripts.scripts", "start")
PATIENCE = 180.0


@dataclass
class RayCluster:
    """A cluster that is running; `environment` lets a command in."""

    port: int
    folder: Path
    environment: dict[str, str]
    machines: dict[str, subprocess.Popen] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, name: str, *options: str, environment: Mapping[str, str] = {}) -> None:
        """Start a machine, and wait until it runs."""
        log = self.folder / f"{name}.log"
        command = [
            *START,
            *options,
            "--node-ip-address=127.0.0.1",
            f"--node-name={name}",
            "--disable-usage-stats",
            "--object-store-memory=100000000",
            "--block",
        ]
        with log.open("wb") as out:
            self.machines[name] = subprocess.Popen(
                command,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, **self.environment, **environment},
                cwd=self.folder,
            )
        until = time.monotonic() + PATIENCE
        while b"Ray runtime started" not in log.read_bytes():
            assert self.machines[name].poll() is None, log.read_text("utf-8", "replace")
            assert time.monotonic() < until, log.read_text("utf-8", "replace")
            time.sleep(0.1)

    def processes(self) -> Iterator[tuple[int, str]]:
        """Yield number and title of every process that has the cluster's token."""
        token = self.environment["RAY_AUTH_TOKEN"].encode()
        for path in Path("/proc").iterdir():
            if path.name.isdigit():
                with suppress(OSError):
                    if token in (path / "environ").read_bytes():
                        title = (path / "cmdline").read_bytes().replace(b"\0", b" ")
                        yield int(path.name), title.decode("utf-8", "replace")

    def stop(self, name: str, how: int = signal.SIGTERM) -> None:
        """End a machine with all of its processes, and wait until they are gone."""
        machine = self.machines.pop(name)
        if how == signal.SIGTERM:
            machine.send_signal(how)
            with suppress(subprocess.TimeoutExpired):
                machine.wait(20)
        with suppress(ProcessLookupError):  # whatever is left: the session is its own
            os.killpg(machine.pid, signal.SIGKILL)
        machine.wait()


@contextmanager
def ray_cluster(*machines: str, cpus: int = 1, python_path: str = "") -> Iterator[RayCluster]:
    """Give a cluster of a head and the `machines` named, each with so many processors."""
    folder = Path(tempfile.mkdtemp(prefix="rc"))  # short: sockets lie in it
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "HF_HUB_OFFLINE": "1",
        **({"PYTHONPATH": python_path} if python_path else {}),
    }
    cluster = RayCluster(port, folder, environment)
    try:
        cluster.start(
            "head",
            "--head",
            f"--port={port}",
            f"--num-cpus={cpus}",
            f"--temp-dir={folder}",
            "--include-dashboard=false",
        )
        for name in machines:
            cluster.start(name, f"--address={cluster.address}", f"--num-cpus={cpus}")
        yield cluster
    finally:
        for name in reversed(list(cluster.machines)):  # a head that is asked to end waits long
            cluster.stop(name, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
