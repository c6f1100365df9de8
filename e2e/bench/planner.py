"""How right the planner is about memory: `python -m e2e.bench.planner LOGS.csv [--models CSV] [--gpus CSV]`.

LOGS.csv holds start-up logs of real engines, one a row: id, vllm_version, model, gpu, gpu_mem_gib, tp, pp,
weight_dtype, kv_dtype, gpu_memory_utilization, max_model_len, max_num_seqs, model_load_gib_per_gpu,
available_kv_gib_per_gpu, kv_tokens, max_concurrency, outcome (ok or refused), notes; blank is not printed. Three
questions, by kind of attention: do tokens and concurrency follow from the printed bytes; do the bytes follow from
configuration and GPU alone; is the verdict right. A row that leaves a setting unsaid is asked again with the usual
values of what it does not say, and is counted apart.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from e2e.bench.plannerrows import Log, read_logs
from inference_fleet.catalog.gpus import GIB, GpuCatalog
from inference_fleet.planning.coefficients import FITTED, Coefficients
from inference_fleet.planning.kvcache import KvLayout
from inference_fleet.planning.layout import kv_layout
from inference_fleet.planning.request import Request
from inference_fleet.planning.sizing import Sizing, size
from inference_fleet.planning.speculation import Speculation

_ANY = GpuCatalog.builtin().types[0]
_BOUNDS = (0.01, 0.10, 0.20)
_ROUNDED = 0.005 * GIB
"""Logs print two digits."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the planner says of a log; errors are relative, None where the log does not say enough."""

    log: Log
    tokens_error: float | None
    concurrency_error: float | None
    unsaid: str
    """With which value of an unsaid setting tokens and concurrency come out."""
    predicted: float | None
    printed: float | None
    verdict_right: bool | None
    excess: float
    """Bytes by which a refused log was found to fit."""

    @property
    def memory_error(self) -> float | None:
        """Of the available KV memory."""
        if self.predicted is None or not self.printed:
            return None
        return self.predicted / self.printed - 1


def layout_of(log: Log, request: Request) -> KvLayout | None:
    """The block pool of a log, None where model or GPU is not known."""
    if log.facts is None:
        return None
    gpu = log.gpu or _ANY
    seqs = request.max_num_seqs or request.default_seqs(gpu)
    batched = request.batch(log.facts, gpu, seqs).tokens
    return kv_layout(log.facts.attention, request.cache(log.facts, gpu, log.tp, batched))


def judge(log: Log, by: Coefficients = FITTED) -> Result:
    """All questions to one log."""
    said = _follows(log, log.request)
    unsaid = ""
    if said is not None and max(said) > _BOUNDS[0]:
        for name, other, request in _alternatives(log):
            found = _follows(other, request)
            if found is not None and max(found) <= _BOUNDS[0]:
                said, unsaid = found, name
                break
    sizing = predict(log, by)
    printed = log.available if log.available is not None else _derived(log)
    fits = None if sizing is None else sizing.holds_request
    right = None if fits is None or "max_model_len" not in log.said else fits is not log.refused
    excess = 0.0
    if fits and log.refused and log.available is not None and sizing is not None:
        excess = sizing.bill.kv_cache_bytes - sizing.request_bytes
    return Result(
        log=log,
        tokens_error=said[0] if said else None,
        concurrency_error=said[1] if said else None,
        unsaid=unsaid,
        predicted=None if sizing is None else sizing.bill.kv_cache_bytes - sizing.shortfall,
        printed=printed,
        verdict_right=right,
        excess=max(0.0, excess),
    )


def predict(log: Log, by: Coefficients = FITTED) -> Sizing | None:
    """The plan from configuration and GPU alone, `max_num_seqs` left to the engine where the log does not say it."""
    if log.facts is None or log.gpu is None or log.special:
        return None
    gpu = log.gpu
    seqs = log.request.max_num_seqs or log.request.default_seqs(gpu)
    length = log.request.max_model_len or log.facts.default_len
    return size(log.facts, gpu, log.tp, replace(log.request, max_num_seqs=seqs, max_model_len=length), by)


def _follows(log: Log, request: Request) -> tuple[float, float] | None:
    """Errors of tokens and concurrency that follow from the printed bytes, within the digits that are printed."""
    layout = layout_of(log, request)
    if layout is None or log.available is None or log.tokens is None or log.facts is None:
        return None
    length = request.max_model_len or log.facts.default_len
    errors = []
    for spare in (-_ROUNDED, 0.0, _ROUNDED):
        blocks = int(max(0.0, log.available + spare) // layout.block_bytes)
        tokens = abs(layout.printed_tokens(blocks, length) / log.tokens - 1)
        at_once = blocks / max(1, layout.request_blocks(length))
        said = log.concurrency
        errors.append((tokens, 0.0 if said is None else max(0.0, abs(at_once - said) - 0.005) / said))
    return min(errors, key=max)


def _alternatives(log: Log) -> Iterator[tuple[str, Log, Request]]:
    """Usual values of the settings that a log does not say, the likeliest first; then an older sibling's indexers."""
    for name, request in _settings(log):
        yield name, log, request
    if log.facts is not None and any(0 < group.indexers < group.count for group in log.facts.attention):
        groups = tuple(replace(group, indexers=group.count) for group in log.facts.attention)
        older = replace(log, facts=replace(log.facts, attention=groups))
        for name, request in _settings(log):
            yield f"{name}, an indexer in every layer", older, request


def _settings(log: Log) -> Iterator[tuple[str, Request]]:
    dtypes = ("auto", "fp8")
    drafts = (None, *(Speculation("mtp", tokens, 1) for tokens in (1, 2, 3, 4)))
    batches = (None, 2048, 4096, 8192, 16_384) if log.request.batched_tokens is None else (log.request.batched_tokens,)
    for batched, draft, dtype, caching in itertools.product(batches, drafts, dtypes, (True, False)):
        words = [f"KV dtype {dtype}"] if dtype != log.request.kv_cache_dtype else []
        words += [f"{draft.tokens} draft tokens"] if draft else []
        words += [] if caching else ["no prefix caching"]
        words += [f"{batched} batched tokens"] if batched and batched != log.request.batched_tokens else []
        yield (
            ", ".join(words) or "as said",
            replace(
                log.request,
                kv_cache_dtype=dtype,
                speculation=draft or log.request.speculation,
                enable_prefix_caching=caching,
                batched_tokens=batched,
            ),
        )


def _derived(log: Log) -> float | None:
    """Available bytes where only tokens are printed; None where no whole number of blocks gives them."""
    layout = layout_of(log, log.request)
    if layout is None or log.tokens is None or log.facts is None:
        return None
    length = log.request.max_model_len or log.facts.default_len
    if not layout.version.prints_capacity:
        return log.tokens / layout.block * sum(times for _, times in layout.groups) * layout.block_bytes
    blocks = math.ceil(log.tokens * layout.request_blocks(length) / length)
    return blocks * layout.block_bytes if layout.printed_tokens(blocks, length) == log.tokens else None


def table(results: Sequence[Result]) -> str:
    """The accuracy by kind."""
    kinds = sorted({result.log.kind for result in results})
    lines = [
        f"{'kind':16} {'rows':>4}   {'tokens <=1%':>11}  {'+unsaid':>7}   {'memory <=1% <=10% <=20%':>24}   verdict"
    ]
    for kind in (*kinds, "all"):
        own = [result for result in results if kind in (result.log.kind, "all")]
        lines.append(f"{kind:16} {len(own):4}   {_line(own)}")
    return "\n".join(lines)


def _line(results: Sequence[Result]) -> str:
    tokens = [max(r.tokens_error, r.concurrency_error or 0.0) for r in results if r.tokens_error is not None]
    plain = sum(
        max(r.tokens_error, r.concurrency_error or 0.0) <= _BOUNDS[0]
        for r in results
        if r.tokens_error is not None and not r.unsaid
    )
    memory = [abs(r.memory_error) for r in results if r.memory_error is not None and not r.log.refused]
    verdicts = [r.verdict_right for r in results if r.verdict_right is not None]
    within = [sum(error <= bound for error in memory) for bound in _BOUNDS]
    exact = sum(error <= _BOUNDS[0] for error in tokens)
    return (
        f"{f'{plain}/{len(tokens)}':>11}  {f'{exact}/{len(tokens)}':>7}   "
        f"{within[0]:>10} {within[1]:>5} {within[2]:>5} of {len(memory):<2}   {sum(verdicts)}/{len(verdicts)}"
    )


def details(results: Iterable[Result]) -> str:
    """One line per log."""
    lines = []
    for r in results:
        memory = ""
        if r.predicted is not None and r.printed and r.memory_error is not None:
            memory = f"{r.predicted / GIB:7.2f} of {r.printed / GIB:6.2f} {r.memory_error:+7.1%}"
        tokens = "" if r.tokens_error is None else f"{r.tokens_error:.2%}"
        verdict = {True: "", False: "WRONG VERDICT", None: ""}[r.verdict_right]
        gpu = r.log.gpu.name if r.log.gpu else "?"
        lines.append(
            f"{r.log.id:6} {r.log.model[:38]:38} {gpu[:14]:14} TP{r.log.tp:<2} {r.log.kind:14} "
            f"tokens {tokens:>7}  memory {memory:28} {verdict} {r.unsaid}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None, *, echo: Callable[[str], object] = print) -> int:
    """Print the tables of a file of logs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--models", type=Path, help="table of models; models.csv beside LOGS.csv")
    parser.add_argument("--gpus", type=Path, help="table of GPUs; gpus.csv beside LOGS.csv")
    parser.add_argument("--rows", action="store_true", help="print every row, too")
    given = parser.parse_args(arguments)
    models, gpus = given.models or given.logs.with_name("models.csv"), given.gpus or given.logs.with_name("gpus.csv")
    results = [judge(log) for log in read_logs(given.logs, models, gpus)]
    if given.rows:
        echo(details(results))
    echo(table(results))
    worst = max((result.excess for result in results), default=0.0)
    echo(f"a refused log found to fit: by {worst / GIB:.2f} GiB at most; the margin is {FITTED.margin / GIB:.2f} GiB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
