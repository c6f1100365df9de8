"""Who fetches: a pull finds the model, or another that fetches it, or takes the work."""

from dataclasses import dataclass
from pathlib import Path

from inference_fleet.modelcache import publish, staging
from inference_fleet.modelcache.journal import Job, Written
from inference_fleet.modelcache.layout import FOLDER_MODE, Manifest
from inference_fleet.modelcache.space import Evicted, Policy, make_room
from inference_fleet.modelcache.staging import Found, Holder, Stage


@dataclass(frozen=True, slots=True)
class Hit:
    """The model is there."""

    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Wait:
    """Another pull on this node fetches the model, and has written this much."""

    written: Written


@dataclass(frozen=True, slots=True)
class Fetch:
    """This pull fetches the model, into `stage`."""

    stage: Stage
    evicted: Evicted


def claim(dest: Path, job: Job, policy: Policy) -> Hit | Wait | Fetch:
    """Decide, in turn with the other pulls of this cache; with `Fetch` the space is there and reserved.

    Raises:
        ModelError: NoSpace.
        OSError: the disk failed.
    """
    root = dest.parent
    root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with staging.root_lock(root), staging.found_in(root) as found:
        publish.mark_used(dest)  # before the look: an eviction looks at the mark after it has moved a copy aside
        hit = publish.holds(dest, job.digest)
        living = [one for one in found if one.holder is Holder.LIVING and _same(one, job)]
        dead = [one for one in found if one.holder is Holder.DEAD]
        resumable = None if hit or living else _best(dead, job)
        _clear(dead, job, keep=resumable)
        if hit:
            publish.drop_journal(dest)  # its pull may have been killed before it did
            return Hit(hit)
        if living:
            return Wait(living[0].written)
        if publish.read_ready(dest) is None:
            publish.displace(dest)
        evicted = make_room(dest, job, resumable, [one for one in found if one.path.exists()], policy)
        stage = staging.adopt(resumable, dest, job) if resumable else None
        return Fetch(stage or staging.create(dest, job), evicted)


def _same(one: Found, job: Job) -> bool:
    return one.job is not None and one.job.same_model(job)


def _best(dead: list[Found], job: Job) -> Found | None:
    return max((one for one in dead if _same(one, job)), key=lambda one: len(one.written), default=None)


def _clear(dead: list[Found], job: Job, keep: Found | None) -> None:
    """Remove what dead pulls left, except what may soon be resumed by a pull of another model."""
    for one in dead:
        others = one.job is not None and one.job.name != job.name and one.written
        if one is not keep and not (others and one.idle_seconds <= staging.RESUMABLE_SECONDS):
            staging.remove(one.path)
