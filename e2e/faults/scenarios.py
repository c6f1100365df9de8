"""What goes wrong, one function a kind. Each leaves the weather fair; the pull after it must succeed."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from e2e.faults.child import Conditions
from e2e.faults.node import BrokenError, Node, Running
from e2e.faults.proxy import Weather

Scenario = Callable[[Node], None]


def killed(node: Node) -> None:
    """One to four pulls, each killed when a random share of the bytes has come, or a moment later."""
    for _ in range(node.random.randint(1, 4)):
        _kill_somewhere(node, node.start())


def killed_late(node: Node) -> None:
    """Killed about the time of sealing, the rename and what follows."""
    running = node.start()
    mark = node.random.choice(["manifest.json", "READY", "used"])
    running.wait_until(lambda: any(node.root.glob(f"*/.inference-fleet/{mark}")))
    _pass_time(running, node.random.random() * 0.004)
    running.kill()


def power_cut(node: Node) -> None:
    """Killed, and the journal names ranges whose bytes never reached the disk."""
    _kill_somewhere(node, node.start())
    for shard in node.root.glob(".staging-*/*.safetensors"):
        if node.random.random() < 0.5:
            with shard.open("r+b") as file:
                file.seek(node.random.randrange(max(1, shard.stat().st_size)))
                file.write(bytes(shard.stat().st_size - file.tell()))


def truncated(node: Node) -> None:
    """Bodies that end early."""
    node.proxy.weather = Weather(cut=node.random.uniform(0.1, 0.6))
    node.pull()


def reset(node: Node) -> None:
    """Connections that are reset."""
    node.proxy.weather = Weather(reset=node.random.uniform(0.1, 0.6))
    node.pull()


def refused(node: Node) -> None:
    """A burst of 503, up to a store that answers nothing else."""
    node.proxy.weather = Weather(refuse=node.random.choice([0.3, 0.6, 1.0]))
    running = node.start()
    _pass_time(running, node.random.random() * 0.3)
    node.proxy.weather = Weather()
    running.end()


def everything_at_once(node: Node) -> None:
    """Bad weather and kills together."""
    node.proxy.weather = Weather(cut=0.15, reset=0.15, refuse=0.15)
    for _ in range(node.random.randint(1, 3)):
        _kill_somewhere(node, node.start())
    node.pull()


def changed(node: Node) -> None:
    """A shard is replaced while it is read: a whole copy of one version, or a clear failure; never a mix."""
    node.proxy.weather = Weather(connection_rate=2e6)
    running = node.start()
    goal = node.proxy.passed + node.random.random() * node.bytes
    running.wait_until(lambda: node.proxy.passed >= goal)
    name = node.random.choice([name for name in node.files if name.endswith(".safetensors")])
    node.store({name: node.random.randbytes(len(node.files[name]))})
    node.proxy.weather = Weather()
    running.end()


def full_disk(node: Node) -> None:
    """Half of the space that the model needs: refused, and nothing is left in the way."""
    filler = node.root.parent / "filler"
    disk = os.statvfs(node.root)
    take = disk.f_bavail * disk.f_frsize - node.bytes // 2
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, take)
    _must_be_refused(node, node.start())
    filler.unlink()


def quota(node: Node) -> None:
    """Files may not grow beyond half of the largest: what a full disk says in mid-write."""
    largest = max(map(len, node.files.values()))
    _must_be_refused(node, node.start(conditions=Conditions(file_limit=largest // 2)))


def damaged(node: Node) -> None:
    """A cached file is cut, zeroed at its end, flipped, emptied or gone: the next pull sees it."""
    node.pull()
    _damage(node, _victim(node))


def damaged_unseen(node: Node) -> None:
    """Bits rot under an unchanged size and time: a full check sees it."""
    node.pull()
    victim = _victim(node)
    state = victim.stat()
    data = bytearray(victim.read_bytes())
    at = node.random.randrange(len(data))
    if node.random.random() < 0.5:
        data[at] ^= 1 << node.random.randrange(8)
    else:
        data[at:] = bytes(byte ^ 0xFF for byte in data[at:])
    victim.write_bytes(data)
    os.utime(victim, ns=(state.st_atime_ns, state.st_mtime_ns))
    node.versions.append({**node.files, victim.name: bytes(data)})  # known to be wrong until it is checked
    if node.pull("--verify").result["cached"]:
        raise BrokenError("a full check has not seen the damage")
    node.versions.pop()


def marker(node: Node) -> None:
    """An empty marker, a torn manifest, neither."""
    node.pull()
    private = node.dest / ".inference-fleet"
    name = node.random.choice(["READY", "manifest.json"])
    if node.random.random() < 0.5:
        (private / name).unlink()
    else:
        os.truncate(private / name, node.random.randrange((private / name).stat().st_size))


def four_at_once(node: Node) -> None:
    """Four pulls start together; all succeed, and the model comes once."""
    before = node.proxy.passed
    ended = [one.end() for one in [node.start() for _ in range(4)]]
    if any(one.status for one in ended):
        raise BrokenError(f"of four pulls at once one failed: {[one.said for one in ended]}")
    if sum(int(str(one.result["fetchedBytes"])) for one in ended) != node.bytes:
        raise BrokenError(f"four pulls at once let {node.proxy.passed - before} bytes pass for {node.bytes}")


def four_with_kills(node: Node) -> None:
    """Four start together and one or two are killed; the others succeed."""
    running = [node.start() for _ in range(4)]
    for _ in range(node.random.randint(1, 2)):
        _kill_somewhere(node, running.pop(node.random.randrange(len(running))))
    if any(one.end().status for one in running):
        raise BrokenError("a pull failed because another was killed")


def four_without_locks(node: Node) -> None:
    """Four start together where locks do nothing; all succeed."""
    ended = [one.end() for one in [node.start(conditions=Conditions(locks=False)) for _ in range(4)]]
    if any(one.status for one in ended):
        raise BrokenError(f"without locks a pull failed: {[one.said for one in ended]}")


SCENARIOS: Mapping[str, Scenario] = {
    scenario.__name__.replace("_", " "): scenario
    for scenario in (
        killed,
        killed_late,
        power_cut,
        truncated,
        reset,
        refused,
        everything_at_once,
        changed,
        full_disk,
        quota,
        damaged,
        damaged_unseen,
        marker,
        four_at_once,
        four_with_kills,
        four_without_locks,
    )
}


def _kill_somewhere(node: Node, running: Running) -> None:
    goal = node.proxy.passed + node.random.random() * node.bytes
    running.wait_until(lambda: node.proxy.passed >= goal)
    _pass_time(running, node.random.random() * 0.02)
    running.kill()


def _pass_time(running: Running, seconds: float) -> None:
    running.process.join(seconds)


def _must_be_refused(node: Node, running: Running) -> None:
    ended = running.end()
    if "NoSpace" not in ended.said:
        raise BrokenError(f"a full disk was met with {ended.status}: {ended.said}")
    if left := [path.name for path in node.root.iterdir()]:
        raise BrokenError(f"a full disk was left fuller, with {left}")


def _victim(node: Node) -> Path:
    return node.dest / node.random.choice([name for name, data in node.files.items() if data])


def _damage(node: Node, victim: Path) -> None:
    data = bytearray(victim.read_bytes())
    kind = node.random.choice(["cut", "zeroed", "flipped", "emptied", "gone"])
    at = node.random.randrange(len(data))
    if kind == "gone":
        victim.unlink()
        return
    if kind == "zeroed":
        data[at:] = bytes(len(data) - at)
    elif kind == "flipped":
        data[at] ^= 1 << node.random.randrange(8)
    else:
        del data[at if kind == "cut" else 0 :]
    victim.write_bytes(data)
