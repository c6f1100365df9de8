"""The owner's side of the supervisor: start, look at and end the processes of one cluster.

`supervisor.py` explains why a process of its own does the work.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from e2e.cluster.errors import ClusterError, wait_for
from e2e.cluster.supervisor import control

T = TypeVar("T")
SUPERVISOR = Path(__file__).with_name("supervisor.py")


@dataclass(frozen=True)
class Process:
    """One supervised process as last seen; `exit` is None while it runs."""

    name: str
    pid: int
    exit: int | None


def lock(state: Path) -> int | None:
    """Take the lock of a state folder, making the folder; None where a supervisor holds it, so it is up.

    Checked against the path afterwards: the folder may have been removed between opening and locking it.
    """
    while True:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            fd = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(fd).st_ino == state.stat().st_ino:
                return fd
        os.close(fd)


def is_up(state: Path) -> bool:
    """Tell whether a supervisor lives behind this state folder, without leaving a trace."""
    try:
        fd = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)


class Processes:
    """A connection to one supervisor."""

    def __init__(self, state: Path, connection: socket.socket, supervisor: subprocess.Popen[bytes] | None) -> None:
        self.state = state
        self._connection = connection
        self._answers = connection.makefile("rb")
        self._supervisor = supervisor

    @classmethod
    def launch(cls, state: Path) -> Self:
        """Start a supervisor that lives no longer than this process, unless told to `detach`."""
        lock_fd = lock(state)
        if lock_fd is None:
            raise ClusterError(f"{state.name} is already up")
        for stale in state.iterdir():  # a supervisor killed with SIGKILL could not clean up
            shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
        ours, theirs = socket.socketpair()
        # Its output goes to a file: a pipe it inherited would keep whoever reads our output waiting until `down`.
        with theirs, (state / "supervisor.log").open("ab") as output:
            supervisor = subprocess.Popen(
                [sys.executable, "-I", SUPERVISOR, str(theirs.fileno()), str(lock_fd), state],
                pass_fds=(theirs.fileno(), lock_fd),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        os.close(lock_fd)
        return cls(state, ours, supervisor)

    @classmethod
    def connect(cls, state: Path) -> Self:
        """Talk to the supervisor of a cluster that somebody else started."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            fd = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
            try:
                connection.connect(control(fd))
            finally:
                os.close(fd)
        except OSError:
            connection.close()
            raise ClusterError(f"there is no cluster {state.name}; `list` shows those that are up") from None
        return cls(state, connection, None)

    def start(
        self,
        name: str,
        argv: Sequence[str | Path],
        env: Mapping[str, str] | None = None,
        leaves: Sequence[Path] = (),
    ) -> int:
        """Start a process under the supervisor and give its pid; its output goes to `log_file(name)`.

        `leaves` are files it makes outside the state folder, to be removed at the end.
        """
        answer = self._ask(
            "start",
            name=name,
            argv=[str(part) for part in argv],
            env=dict(env or {}),
            log=str(self.log_file(name)),
            leaves=[str(leaf) for leaf in leaves],
        )
        return int(answer["pid"])

    def stop(self, name: str, seconds: float = 10) -> None:
        """End one process with SIGTERM, and with SIGKILL when it takes too long."""
        self._ask("stop", name=name, seconds=seconds)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one process."""
        self._ask("signal", name=name, number=int(number))

    def list(self) -> tuple[Process, ...]:
        """Everything that was started and not stopped, in that order."""
        return tuple(Process(**entry) for entry in self._ask("list")["processes"])

    def detach(self) -> None:
        """Let the cluster outlive this process."""
        self._ask("detach")
        if self._supervisor is not None:
            self._supervisor.returncode = 0  # it is nobody's child to wait for any more
            self._supervisor = None

    def down(self) -> None:
        """End everything; the state folder is gone when this returns."""
        with contextlib.suppress(ClusterError):
            self._ask("down")
            self._answers.read()  # end-of-file is the supervisor's own end
        self.close()

    def close(self) -> None:
        """Hang up. Where this process is the owner and did not detach, that ends the cluster."""
        self._answers.close()
        self._connection.close()
        if self._supervisor is not None:
            self._supervisor.wait(30)

    def log_file(self, name: str) -> Path:
        """Where a process's output goes."""
        return self.state / f"{name}.log"

    def tail(self, name: str, lines: int = 15) -> str:
        """The last lines a process wrote, for an error message."""
        try:
            text = self.log_file(name).read_text(errors="replace")
        except FileNotFoundError:
            return ""
        return f"last lines of {name}:\n" + "\n".join("  " + line for line in text.splitlines()[-lines:])

    def wait_for(self, what: str, check: Callable[[], T | None], *, process: str, seconds: float) -> T:
        """Wait for what `process` should bring about; its end, or the deadline, is an error with its last words."""

        def alive_and_done() -> T | None:
            ended = [p for p in self.list() if p.name == process and p.exit is not None]
            if ended:
                raise ClusterError(f"{process} ended with exit code {ended[0].exit}\n{self.tail(process)}")
            return check()

        return wait_for(what, alive_and_done, seconds=seconds, on_timeout=lambda: self.tail(process))

    def _ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        try:
            self._connection.sendall(json.dumps({"do": what, **arguments}).encode() + b"\n")
            line = self._answers.readline()
        except (OSError, ValueError):
            line = b""
        if not line:
            raise ClusterError(f"the supervisor of {self.state.name} is gone\n{self.tail('supervisor')}".rstrip())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ClusterError(answer["error"])
        return answer
