"""The checks of a service and of a pool: small functions in named chains, each yielding a reason and a message.

The message gives the numbers and what would work; the pair goes straight into a condition. A warning informs and does
not stop the rollout: what is not known is never a reason to refuse.
"""

from collections.abc import Callable
from dataclasses import dataclass

from inference_fleet.api.conditions import Reason
from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec, Pool
from inference_fleet.catalog.engines import NEWEST, EngineVersion, engine_version
from inference_fleet.catalog.extra_args import findings, size_value
from inference_fleet.catalog.gpus import GpuCatalog, GpuType, is_part_of_gpu
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.parallelism import Split, explain, legal, legal_sizes
from inference_fleet.planning.plan import Problem
from inference_fleet.planning.request import Request

MAX_NAME = 253
_ENGINES = "-engines"


@dataclass(frozen=True, slots=True)
class PoolInput:
    """What the checks of a pool look at. `gpu` is None for an unknown type, `facts` for an unread model."""

    pool: Pool
    image: str
    request: Request
    gpu: GpuType | None
    facts: ModelFacts | None
    catalog: GpuCatalog


Check = Callable[[PoolInput], Problem | None]


def spec_problems(spec: InferenceServiceSpec, name: str, *, default_image: str = "") -> tuple[Problem, ...]:
    """What is wrong with a service by its own words, beyond what its schema says.

    `default_image` is the engine image where the spec names none; left out, the newest known version is assumed.
    """
    problems = []
    if len(name) > MAX_NAME:
        problems.append(
            Problem(Reason.INVALID_SPEC, f"metadata.name has {len(name)} characters; {MAX_NAME} is the most.")
        )
    if name.endswith(_ENGINES):
        base = name.removesuffix(_ENGINES)
        message = f"metadata.name is {name!r}: a name that ends in {_ENGINES} is the headless Service of {base!r}."
        problems.append(Problem(Reason.INVALID_SPEC, message))
    service_image = (spec.engine and spec.engine.image) or default_image
    engines = [("spec.engine.extraArgs", spec.engine)]
    engines += [(f"spec.pools[{number}].engine.extraArgs", pool.engine) for number, pool in enumerate(spec.pools)]
    for path, engine in engines:
        if engine is not None and engine.extra_args:
            version = engine_version(engine.image or service_image)
            problems += argument_problems(engine.extra_args, version, path)
    return tuple(problems)


def argument_problems(extra_args: tuple[str, ...], version: EngineVersion, path: str) -> list[Problem]:
    """What is wrong with the items of extraArgs."""
    return [Problem(found.reason, found.message, found.warning) for found in findings(extra_args, version, path)]


def pool_problems(given: PoolInput) -> tuple[Problem, ...]:
    """What is wrong with a pool before any memory is counted."""
    problems = argument_problems(given.request.extra_args, given.request.version, "engine.extraArgs")
    problems += [problem for check in POOL_CHECKS if (problem := check(given)) is not None]
    return tuple(problems)


def _engine_version_known(given: PoolInput) -> Problem | None:
    version = given.request.version
    if version.known:
        return None
    newest = EngineVersion(NEWEST, known=True)
    message = (
        f"the image {given.image} does not say a vLLM version that is known here; planned with what {newest} does."
    )
    return Problem(Reason.UNKNOWN_ENGINE_VERSION, message, warning=True)


def _gpu_known(given: PoolInput) -> Problem | None:
    if given.gpu is not None:
        return None
    label = given.pool.gpu
    if is_part_of_gpu(label):
        message = f"gpu is {label}, a slice of a GPU, which cannot be planned as a whole one; take a whole GPU type."
    else:
        nearest = ", ".join(given.catalog.nearest(label))
        message = f"gpu is {label}, which is not in the GPU catalogue; the nearest known types are {nearest}."
    return Problem(Reason.UNKNOWN_GPU, message)


def _model_read(given: PoolInput) -> Problem | None:
    if given.facts is None:
        message = "the model's config.json was not read: memory and legal sizes are not checked, given values are kept."
        return Problem(Reason.MODEL_NOT_CHECKED, message, warning=True)
    if given.facts.weights_estimated:
        message = (
            "no weights and no model.safetensors.index.json were read: the weights are estimated from config.json."
        )
        return Problem(Reason.MODEL_NOT_CHECKED, message, warning=True)
    return None


def _architecture_known(given: PoolInput) -> Problem | None:
    if given.facts is None or not given.facts.approximations:
        return None
    what = "; ".join(given.facts.approximations)
    message = f"the bill of {given.facts.architecture} is an estimate: {what}."
    return Problem(Reason.UNSUPPORTED_ARCHITECTURE, message, warning=True)


def _dtype_supported(given: PoolInput) -> Problem | None:
    gpu, facts, dtype = given.gpu, given.facts, given.request.dtype or "auto"
    if gpu is None or gpu.bf16:
        return None
    if dtype == "bfloat16" or (dtype == "auto" and facts is not None and facts.dtype == "bfloat16"):
        message = f"the model is bfloat16, which {gpu.product} lacks; add --dtype half to extraArgs."
        return Problem(Reason.UNSUPPORTED_DTYPE, message)
    return None


def _kv_dtype_supported(given: PoolInput) -> Problem | None:
    gpu, dtype = given.gpu, given.request.kv_cache_dtype
    if gpu is None:
        return None
    old = gpu.capability is not None and gpu.capability < (8, 0)
    lacks_e4m3 = dtype in {"fp8", "fp8_e4m3"} and not gpu.fp8
    if lacks_e4m3 or (dtype == "fp8_e5m2" and old and not gpu.fp8) or (dtype == "bfloat16" and not gpu.bf16):
        works = "auto" if old or dtype == "bfloat16" else "auto or fp8_e5m2"
        message = f"kvCacheDtype is {dtype}, which {gpu.product} cannot compute with; {works} would work."
        return Problem(Reason.UNSUPPORTED_DTYPE, message)
    quantization = given.facts.quantization if given.facts else None
    if dtype == "fp8_e5m2" and quantization is not None and quantization.fp8:
        message = "kvCacheDtype is fp8_e5m2, which the engine refuses for FP8 checkpoints; auto or fp8 would work."
        return Problem(Reason.UNSUPPORTED_DTYPE, message)
    return None


def _quantization_supported(given: PoolInput) -> Problem | None:
    gpu, quantization = given.gpu, given.facts.quantization if given.facts else None
    if gpu is None or quantization is None or gpu.capability is None:
        return None
    if gpu.capability >= quantization.least_capability:
        return None
    least = ".".join(map(str, quantization.least_capability))
    message = (
        f"the checkpoint is quantised as {quantization.method}, for which {gpu.product} (compute capability "
        f"{gpu.compute_capability}) has no kernel; {least} is the least."
    )
    return Problem(Reason.UNSUPPORTED_DTYPE, message)


def split_of(request: Request) -> Split:
    """What extraArgs say of experts and encoders."""
    return Split(request.expert_parallel, request.whole_encoder or request.text_only)


def _parallelism_legal(given: PoolInput) -> Problem | None:
    tp, gpu, facts = given.pool.tensor_parallel_size, given.gpu, given.facts
    if gpu is None:
        return None
    node, split = gpu.gpus_per_node, split_of(given.request)
    if tp is None:
        if facts is None or legal_sizes(facts, node, split):
            return None
        message = f"no tensorParallelSize is possible; {explain(facts, node, split)}."
        return Problem(Reason.INVALID_PARALLELISM, message)
    if facts is not None and not (tp <= node and legal(facts, tp, split)):
        message = f"tensorParallelSize {tp} is not possible; {explain(facts, node, split)}."
        return Problem(Reason.INVALID_PARALLELISM, message)
    if tp > node:
        message = (
            f"tensorParallelSize {tp} is more than the {node} GPUs of a node with {gpu.product}; {node} is the most."
        )
        return Problem(Reason.INVALID_PARALLELISM, message)
    return None


def _one_group_of_gpus(given: PoolInput) -> Problem | None:
    for names in (("--pipeline-parallel-size", "-pp"), ("--data-parallel-size", "-dp")):
        value = size_value(given.request.extra_args, *names)
        if value is not None and value > 1:
            message = (
                f"extraArgs set {names[0]} {value}, but a replica gets tensorParallelSize GPUs only; "
                "raise tensorParallelSize or replicas instead."
            )
            return Problem(Reason.INVALID_PARALLELISM, message)
    return None


def _length_known_to_model(given: PoolInput) -> Problem | None:
    facts, length = given.facts, given.request.max_model_len
    if facts is None or length is None or length <= facts.longest_len:
        return None
    message = f"maxModelLen is {length}, but the model's own longest length is {facts.longest_len}."
    return Problem(Reason.CONTEXT_TOO_LONG, message, warning=given.request.has("--hf-overrides"))


def _batch_holds_sequences(given: PoolInput) -> Problem | None:
    batched, seqs = given.request.batched_tokens, given.request.max_num_seqs
    if batched is None and given.gpu is not None:
        batched = given.gpu.batch_defaults.max_num_batched_tokens
    if batched is None or seqs is None or seqs <= batched:
        return None
    message = (
        f"maxNumSeqs is {seqs}, above the {batched} tokens of a batch; "
        f"lower it or add --max-num-batched-tokens {seqs} to extraArgs."
    )
    return Problem(Reason.INVALID_SPEC, message)


POOL_CHECKS: tuple[Check, ...] = (
    _engine_version_known,  # the tag says a version in the tables
    _gpu_known,  # a whole GPU of the catalogue
    _model_read,  # facts there, weights there
    _architecture_known,  # every field that the bill rests on
    _dtype_supported,  # the model's type on this GPU
    _kv_dtype_supported,  # the KV cache's type on this GPU
    _quantization_supported,  # the checkpoint's kernels on this GPU
    _parallelism_legal,  # heads, quantisation blocks, node
    _one_group_of_gpus,  # no pipeline or data parallelism behind the plan's back
    _length_known_to_model,  # positions that the model has
    _batch_holds_sequences,  # the engine's own rule
)
