"""Engine versions: what an image tag says, and what differs between versions of vLLM.

An unknown version is planned as the newest known one and said so; a version is never guessed from anything but a tag.
"""

import re
from dataclasses import dataclass

Version = tuple[int, int, int]

NEWEST: Version = (0, 33, 0)
OLDEST: Version = (0, 8, 0)
"""First version whose memory accounting (V1 engine) is the one planned here."""

LOCKED_FLAGS = {
    "--model": "spec.model.uri",
    "--served-model-name": "spec.model.name",
    "--host": "the operator's Service",
    "--port": "the operator's Service",
    "--tensor-parallel-size": "tensorParallelSize",
    "-tp": "tensorParallelSize",
    "--max-model-len": "engine.maxModelLen",
    "--max-num-seqs": "engine.maxNumSeqs",
    "--gpu-memory-utilization": "engine.gpuMemoryUtilization",
    "--enable-prefix-caching": "engine.enablePrefixCaching",
    "--no-enable-prefix-caching": "engine.enablePrefixCaching",
    "--kv-cache-dtype": "engine.kvCacheDtype",
    "--shutdown-timeout": "spec.drainSeconds",
}
"""Flags that the operator renders, and the field that is set instead."""


@dataclass(frozen=True, slots=True)
class RemovedFlag:
    """A flag that the engine refuses from a version on. A name that ends in `*` stands for all that begin so."""

    name: str
    removed: Version
    instead: str


_NOTHING = "leave it out"
REMOVED_FLAGS = (
    *(
        RemovedFlag(name, (0, 10, 2), instead)
        for name, instead in (
            ("--device", _NOTHING),
            ("--num-scheduler-steps", _NOTHING),
            ("--multi-step-stream-outputs", _NOTHING),
            ("--use-v2-block-manager", _NOTHING),
            ("--enable-reasoning", "use --reasoning-parser alone"),
            ("--enable-prompt-adapter", _NOTHING),
            ("--tokenizer-pool-*", _NOTHING),
        )
    ),
    *(
        RemovedFlag(name, (0, 11, 2), instead)
        for name, instead in (
            ("--rope-scaling", "use --hf-overrides"),
            ("--rope-theta", "use --hf-overrides"),
            ("--preemption-mode", _NOTHING),
            ("--scheduler-delay-factor", _NOTHING),
            ("--disable-async-output-proc", _NOTHING),
            ("--max-seq-len-to-capture", _NOTHING),
            ("--enable-lora-bias", _NOTHING),
        )
    ),
    RemovedFlag("--disable-log-requests", (0, 12, 0), "requests are not logged any more unless --enable-log-requests"),
    *(
        RemovedFlag(name, (0, 13, 0), instead)
        for name, instead in (
            ("--task", "use --runner or --convert"),
            ("--guided-decoding-*", "use --structured-outputs-config"),
            ("--eplb-window-size", "use --eplb-config"),
            ("--eplb-step-interval", "use --eplb-config"),
            ("--num-redundant-experts", "use --eplb-config"),
            ("--cuda-graph-sizes", "use --compilation-config"),
            ("--override-pooler-config", "use --pooler-config"),
            ("--num-lookahead-slots", _NOTHING),
            ("--disable-mm-preprocessor-cache", "use --mm-processor-cache-gb 0"),
        )
    ),
    RemovedFlag("--swap-space", (0, 19, 0), "leave it out: it did nothing since the V1 engine"),
    *(
        RemovedFlag(name, (0, 28, 0), _NOTHING)
        for name in (
            "--calculate-kv-scales",
            "--max-num-partial-prefills",
            "--max-long-partial-prefills",
            "--override-attention-dtype",
        )
    ),
    RemovedFlag("--log-config-file", (0, 33, 0), "use --logging-config"),
    RemovedFlag("--disable-cascade-attn", (0, 33, 0), _NOTHING),
)

ADDED_FLAGS: dict[str, Version] = {
    "--shutdown-timeout": (0, 19, 0),
    "--numa-bind": (0, 20, 0),
    "--spec-method": (0, 23, 0),
    "--spec-model": (0, 23, 0),
    "--spec-tokens": (0, 23, 0),
    "--device-ids": (0, 25, 0),
    "--watermark": (0, 25, 0),
}
"""Flags that older engines refuse."""


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """A version of the engine and what it does differently from others."""

    number: Version
    known: bool

    @property
    def default_utilization(self) -> float:
        """Share of the GPU that the engine takes if not told."""
        return 0.92 if self.number >= (0, 20, 0) else 0.9

    @property
    def counts_graphs(self) -> bool:
        """Whether CUDA graphs are estimated inside the budget; before, they came on top of it."""
        return self.number >= (0, 21, 0)

    @property
    def sorts_logits(self) -> bool:
        """Whether the sampler sorts all logits for top-k and top-p; a kernel of its own replaced that.

        Start-up logs up to 0.12 show it, from 0.19 not any more.
        """
        return self.number < (0, 17, 0)

    @property
    def batches_by_gpu(self) -> bool:
        """Whether large GPUs get 1024 sequences if not told; before, 256 was the default of all."""
        return self.number >= (0, 9, 0)

    @property
    def groups_layers(self) -> bool:
        """Whether layers with a window free what they do not see; before, they were kept like full attention."""
        return self.number >= (0, 9, 1)

    @property
    def groups_chunked(self) -> bool:
        """Whether chunked layers do, too: allowed by default only later."""
        return self.number >= (0, 13, 0)

    @property
    def state_copies(self) -> int:
        """States that a sequence of a hybrid keeps while prefixes are cached: its own and the last cached one."""
        return 2 if self.number >= (0, 20, 0) else 1

    @property
    def prints_capacity(self) -> bool:
        """Whether the printed KV cache size is concurrency x length; before, blocks of one group x block size."""
        return self.number >= (0, 20, 2)

    @property
    def batches_in_flight(self) -> int:
        """Batches whose tokens a windowed layer holds besides its window: two where scheduling runs ahead."""
        return 2 if self.number >= (0, 25, 0) else 1

    @property
    def sparse_latents_fp8(self) -> bool:
        """Whether a sparse latent cache is packed FP8 unless told otherwise."""
        return self.number < (0, 12, 0)

    @property
    def reads_kv_scales(self) -> bool:
        """Whether `auto` takes the KV cache dtype that a quantised checkpoint brings scales for."""
        return self.number >= (0, 12, 0)

    @property
    def latent_workspace(self) -> int:
        """Tokens whose latents a profile run unpacks at once."""
        return 64 * 1024 if self.number >= (0, 11, 0) else 128 * 1024

    @property
    def indexer_lengths(self) -> int:
        """Requests of full length whose indexer keys a profile run gathers at once; a log of 0.23 has none of it."""
        return 40 if self.number < (0, 21, 0) else 0

    def accepts(self, flag: str) -> bool:
        """Whether a flag of `ADDED_FLAGS` is there already."""
        return self.number >= ADDED_FLAGS[flag]

    def __str__(self) -> str:
        return ".".join(map(str, self.number))


_TAG = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?(?![\d])")


def engine_version(image: str) -> EngineVersion:
    """The version that an image's tag names: `v0.33.0`, `0.9.1`, with any suffix.

    A digest alone, `latest` or a tag without a version is the newest known version, marked unknown; so are versions
    beyond those known, but they keep their number.
    """
    name = image.partition("@")[0].rpartition("/")[2]
    found = _TAG.match(name.partition(":")[2])
    if found is None:
        return EngineVersion(NEWEST, known=False)
    number = (int(found[1]), int(found[2]), int(found[3] or 0))
    return EngineVersion(number, known=number >= OLDEST and number[:2] <= NEWEST[:2])
