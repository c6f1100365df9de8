"""Nothing may be left behind, however the owner or the supervisor ends; shown with processes that only sleep."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.cluster.errors import ClusterError, wait_for
from e2e.cluster.processes import Processes, is_up

SLEEP = ["sleep", "1000"]
OWNER = """
import sys
from pathlib import Path
from e2e.cluster.processes import Processes
processes = Processes.launch(Path(sys.argv[1]))
pids = [processes.start(name, ["sleep", "1000"]) for name in ("one", "two")]
if sys.argv[2] == "detach":
    processes.detach()
print(*pids, flush=True)
if sys.argv[2] != "detach":
    sys.stdin.read()
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def own(state: Path, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OWNER, str(state), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )


def pids_of(owner: subprocess.Popen[str]) -> list[int]:
    assert owner.stdout is not None
    pids = [int(word) for word in owner.stdout.readline().split()]
    assert len(pids) == 2
    return pids


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_owner_that_dies_takes_everything_with_it(tmp_path: Path, number: signal.Signals) -> None:
    state = tmp_path / "cluster"
    with own(state, "hold") as owner:
        pids = pids_of(owner)
        assert all(alive(pid) for pid in pids)
        owner.send_signal(number)
    wait_for("the end", lambda: not any(alive(pid) for pid in pids) and not state.exists(), seconds=10, every=0.02)


def test_a_killed_supervisor_takes_everything_with_it(tmp_path: Path) -> None:
    state = tmp_path / "cluster"
    with own(state, "detach") as owner:
        pids = pids_of(owner)
    assert owner.returncode == 0
    assert is_up(state)
    assert all(alive(pid) for pid in pids)
    supervisor = int(Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    wait_for("the end", lambda: not any(alive(pid) for pid in pids), seconds=10, every=0.02)
    assert not is_up(state)
    again = Processes.launch(state)  # the stale folder is no obstacle
    assert again.list() == ()
    again.down()
    assert not state.exists()


def test_a_detached_cluster_is_ended_by_whoever_connects(tmp_path: Path) -> None:
    state = tmp_path / "cluster"
    with own(state, "detach") as owner:
        pids = pids_of(owner)
    processes = Processes.connect(state)
    assert [(p.name, p.pid, p.exit) for p in processes.list()] == [("one", pids[0], None), ("two", pids[1], None)]
    processes.down()
    assert not any(alive(pid) for pid in pids)
    assert not state.exists()


def test_a_name_is_taken_while_its_cluster_is_up(tmp_path: Path) -> None:
    first = Processes.launch(tmp_path / "cluster")
    try:
        with pytest.raises(ClusterError, match="cluster is already up"):
            Processes.launch(tmp_path / "cluster")
    finally:
        first.down()


def test_a_process_can_be_frozen_stopped_and_started_again(tmp_path: Path) -> None:
    processes = Processes.launch(tmp_path / "cluster")
    try:
        first = processes.start("one", SLEEP)
        with pytest.raises(ClusterError, match="one already runs"):
            processes.start("one", SLEEP)
        processes.signal("one", signal.SIGSTOP)
        processes.signal("one", signal.SIGCONT)
        processes.stop("one")
        assert not alive(first)
        assert processes.start("one", SLEEP) != first
    finally:
        processes.down()


def test_a_component_that_ends_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    processes = Processes.launch(tmp_path / "cluster")
    try:
        processes.start("one", ["sh", "-c", "echo the disk is full; exit 3"])
        started = time.monotonic()
        with pytest.raises(ClusterError, match=r"one ended with exit code 3\nlast lines of one:\n  the disk is full"):
            processes.wait_for("success", lambda: None, process="one", seconds=30)
        assert time.monotonic() - started < 10
        processes.start("two", ["sh", "-c", "echo still trying; sleep 1000"])
        with pytest.raises(ClusterError, match=r"success did not happen within 0.5 s\nlast lines of two"):
            processes.wait_for("success", lambda: None, process="two", seconds=0.5)
        with pytest.raises(ClusterError, match="FileNotFoundError"):
            processes.start("three", ["no-such-program"])
    finally:
        processes.down()


def test_files_a_process_leaves_elsewhere_are_removed(tmp_path: Path) -> None:
    leaf = tmp_path / "socket"
    processes = Processes.launch(tmp_path / "cluster")
    processes.start("one", ["sh", "-c", f"touch {leaf}; sleep 1000"], leaves=[leaf])
    wait_for("the file", leaf.exists, seconds=10, every=0.02)
    processes.down()
    assert not leaf.exists()


def test_connecting_to_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="there is no cluster absent"):
        Processes.connect(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()
