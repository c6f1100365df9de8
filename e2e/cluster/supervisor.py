"""Keeps every process of one cluster, and lets none outlive its owner.

Run as a script of its own (standard library only, so it starts at once) by `processes.py`:

    supervisor.py OWNER_FD LOCK_FD STATE_DIR

Three ties make sure that nothing is left behind, however a process is ended:

- The owner (a test run, or the `up` command) holds the other end of OWNER_FD. When it dies, even by SIGKILL, the
  kernel closes that end; the supervisor reads end-of-file, ends everything and goes. `detach` cuts this tie on purpose.
- Every child asks the kernel for SIGKILL when its parent, this process, is gone (PR_SET_PDEATHSIG).
- LOCK_FD is a lock on the state folder that lives exactly as long as this process: whoever can take it knows that
  the cluster is down, without trusting any pid in a file.

The protocol is one JSON object a line, answered by one JSON object a line, on OWNER_FD and on STATE_DIR/control.
Signals are sent here and nowhere else: an unreaped child keeps its pid, so a signal can never reach a stranger.
"""

import contextlib
import ctypes
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def control(state_fd: int) -> str:
    """Name the control socket by an open folder: the path of a socket may have 108 bytes, a folder's far more."""
    return f"/proc/self/fd/{state_fd}/control"


def die_with(parent: int) -> None:
    """Run in the child before exec: tie its life to the parent's."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before the tie was made
        os._exit(1)


class Supervisor:
    """The processes of one cluster, by name, and the connections that may ask about them."""

    def __init__(self, owner: socket.socket, state_fd: int, state: Path) -> None:
        self.owner = owner
        self.owned = True
        self.going = False
        self.state = state
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self.leaves: list[str] = []
        self.buffers: dict[socket.socket, bytes] = {owner: b""}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(control(state_fd))
        self.listener.listen()
        self.selector = selectors.DefaultSelector()
        self.selector.register(owner, selectors.EVENT_READ)
        self.selector.register(self.listener, selectors.EVENT_READ)

    def serve(self) -> None:
        """Answer until told to go, or until the owner is gone."""
        while not self.going:
            for key, _ in self.selector.select(timeout=1):
                if key.fileobj is self.listener:
                    connection, _ = self.listener.accept()
                    self.buffers[connection] = b""
                    self.selector.register(connection, selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket):
                    self.read(key.fileobj)
            for child in self.children.values():
                child.poll()

    def read(self, connection: socket.socket) -> None:
        """Take in what a connection sent and answer every complete line."""
        try:
            data = connection.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(connection)
            del self.buffers[connection]
            connection.close()
            if connection is self.owner and self.owned:
                self.going = True
            return
        *lines, self.buffers[connection] = (self.buffers[connection] + data).split(b"\n")
        for line in lines:
            answer: dict[str, Any]
            try:
                request = json.loads(line)
                answer = getattr(self, "do_" + request.pop("do"))(**request)
            except Exception as error:  # noqa: BLE001 - one bad request must not end a cluster
                answer = {"error": f"{type(error).__name__}: {error}"}
            try:
                connection.sendall(json.dumps(answer).encode() + b"\n")
            except OSError:
                return

    def do_start(self, name: str, argv: list[str], env: dict[str, str], log: str, leaves: list[str]) -> dict[str, Any]:
        """Start a process in its own group, its output appended to a log.

        `leaves` are files outside the state folder that it will make and nobody else removes.
        """
        child = self.children.get(name)
        if child is not None and child.poll() is None:
            return {"error": f"{name} already runs"}
        self.leaves += leaves
        me = os.getpid()
        with Path(log).open("ab") as output:
            self.children[name] = subprocess.Popen(
                argv,
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.state,
                process_group=0,
                preexec_fn=lambda: die_with(me),  # safe here: this process has one thread
            )
        return {"pid": self.children[name].pid}

    def do_signal(self, name: str, number: int) -> dict[str, Any]:
        """Send a signal to one process."""
        child = self.children[name]
        if child.poll() is not None:
            return {"error": f"{name} has ended"}
        child.send_signal(number)
        return {}

    def do_stop(self, name: str, seconds: float) -> dict[str, Any]:
        """End one process, politely first."""
        child = self.children.pop(name)
        child.terminate()
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill(child)
        return {"exit": child.returncode}

    def do_list(self) -> dict[str, Any]:
        """Tell what runs and what has ended, with which exit code."""
        return {"processes": [{"name": n, "pid": c.pid, "exit": c.poll()} for n, c in self.children.items()]}

    def do_detach(self) -> dict[str, Any]:
        """Outlive the owner: the cluster stays until somebody says `down`."""
        self.owned = False
        return {}

    def do_down(self) -> dict[str, Any]:
        """End everything; the connection closes when it is done."""
        self.going = True
        return {}

    def kill(self, child: subprocess.Popen[bytes]) -> None:
        """End a process and whatever it started, without asking."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def end(self) -> None:
        """Kill in the reverse order of starting: nothing here keeps state worth a graceful end."""
        for child in reversed(self.children.values()):
            if child.poll() is None:
                self.kill(child)
        for leaf in self.leaves:
            Path(leaf).unlink(missing_ok=True)
        shutil.rmtree(self.state, ignore_errors=True)


def main() -> None:
    """Serve one cluster from its first process to its last."""
    owner_fd, lock_fd, state = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    os.set_inheritable(owner_fd, False)
    os.set_inheritable(lock_fd, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner; its end reaches us by OWNER_FD
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    supervisor = Supervisor(socket.socket(fileno=owner_fd), lock_fd, state)

    def go(*_: object) -> None:
        supervisor.going = True

    signal.signal(signal.SIGTERM, go)
    try:
        supervisor.serve()
    finally:
        supervisor.end()


if __name__ == "__main__":
    main()
