"""A Chroma server on this machine, on a port and a folder of its own; it can be killed."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import chromadb
import httpx


@dataclass
class ChromaServer:
    """`chroma run`, which keeps its port and its folder when it is started again."""

    folder: Path
    port: int
    process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        chroma = Path(sys.executable).with_name("chroma")
        place = ["--path", self.folder, "--host", "127.0.0.1", "--port", str(self.port)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([chroma, "run", *place], start_new_session=True, **quiet)
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            assert self.process.poll() is None, "the server ended"
            try:
                httpx.get(f"{self.url}/api/v2/heartbeat").raise_for_status()
                return
            except httpx.HTTPError:
                time.sleep(0.05)
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)
            self.process = None

    @contextmanager
    def client(self) -> Iterator[chromadb.ClientAPI]:
        quiet = chromadb.config.Settings(anonymized_telemetry=False)
        client = chromadb.HttpClient(self.url, settings=quiet)
        try:
            yield client
        finally:
            close(client)


def close(client: chromadb.ClientAPI) -> None:
    """Close a client and its sockets, which it leaves open itself."""
    sessions = [each._server._session for each in (client, client._admin_client)]
    client.close()
    for session in sessions:
        session.close()


def free_port() -> int:
    """Return a port that no connection is given by chance: a server comes back to it later."""
    while True:
        port = 12_000 + secrets.randbelow(20_000)  # below those that Linux gives to connections
        with suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            return port


@contextmanager
def chroma_running(folder: Path) -> Iterator[ChromaServer]:
    server = ChromaServer(folder, free_port())
    try:
        server.start()
        yield server
    finally:
        server.kill()
