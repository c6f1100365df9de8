"""The pure core: state in, outcome out. No cluster, no clock."""

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from inference_fleet.api import labels
from inference_fleet.api.conditions import Reason
from inference_fleet.api.v1alpha1.spec import Model
from inference_fleet.api.v1alpha1.status import InferenceServiceStatus
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.catalog.models import ModelFacts, model_facts
from inference_fleet.reconciler.cache import Cache
from inference_fleet.reconciler.observed import ServiceKey
from inference_fleet.reconciler.outcome import (
    Failures,
    ModelRead,
    ModelUnreadable,
    Outcome,
    Policy,
    StoredModel,
)
from inference_fleet.reconciler.reconcile import reconcile
from inference_fleet.resources.inputs import RenderSettings
from tests.unit.planning import shapes
from tests.unit.reconciler import objects

CHAT = ServiceKey("team-a", "chat")
NO_FAILURES = Failures()
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
POLICY = Policy(render=RenderSettings(operator_image="operator:1"), catalog=GpuCatalog.builtin())
S3: objects.Json = {"model": {"name": "llama", "uri": "s3://models/llama"}, "engine": {}}


def facts(**changes: Any) -> ModelFacts:
    return model_facts(shapes.config(**changes), None, {})


class World:
    """A cache, and a way to live through passes: what is desired becomes live, the status is stored."""

    def __init__(self, *bodies: objects.Json, model: ModelRead = None, policy: Policy = POLICY) -> None:
        self.cache = Cache()
        self.model = model
        self.policy = policy
        self.service: objects.Json = {}
        for body in bodies:
            self.see(body)

    def see(self, body: objects.Json) -> None:
        if body.get("kind") == labels.KIND:
            self.service = {**body, "status": body.get("status", self.service.get("status"))}
            self.cache.put(labels.KIND, self.service)
        else:
            self.cache.put(body.get("kind", "Pod"), body)

    def decide(self, failures: Failures = NO_FAILURES) -> Outcome:
        service = self.cache.service(CHAT)
        assert service is not None

        def answer(_: Model, known_digest: str | None) -> ModelRead:
            return self.model

        return reconcile(service, self.cache.observed(CHAT), answer, failures, self.policy, NOW)

    def settle(self, *, updated: bool = True) -> Outcome:
        """Carry out one outcome, and let every Deployment be up to date."""
        outcome = self.decide()
        for manifest in outcome.desired:
            replicas = manifest["spec"].get("replicas", 0)
            progress = {"observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas if updated else 0}
            self.see(objects.live(manifest, status=progress))
        for child in outcome.prune:
            self.cache.remove(child.kind, {"metadata": dataclasses.asdict(child)})
        status = outcome.status.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.service["metadata"]["resourceVersion"] = str(int(self.service["metadata"]["resourceVersion"]) + 10_000)
        self.service["status"] = status
        self.cache.put(labels.KIND, self.service)
        return outcome


def condition(status: InferenceServiceStatus, kind: str = "Ready") -> tuple[str, str]:
    found = next(c for c in status.conditions if c.type == kind)
    return found.status, found.reason


def kinds(outcome: Outcome) -> list[str]:
    return sorted(f"{m['kind']}/{m['metadata']['name']}" for m in outcome.desired)


def roles(outcome: Outcome) -> dict[str, str]:
    return {change.name: change.role for change in outcome.roles}


def loaded(world: World, names: Sequence[str], **pod: Any) -> None:
    lock = world.service["status"]["pools"][0]["lock"]
    for name in names:
        world.see(objects.pod(name, lock=lock, **pod))


def test_a_new_service_gets_its_children_and_is_not_ready_yet() -> None:
    outcome = World(objects.service()).decide()
    assert kinds(outcome) == [
        "Deployment/chat-h100",
        "PodDisruptionBudget/chat-h100",
        "Service/chat",
        "Service/chat-engines",
    ]
    assert condition(outcome.status) == ("Unknown", Reason.ROLLING_OUT)
    assert outcome.status.observed_generation == 1


def test_it_is_ready_when_its_serving_pods_are_loaded_with_or_without_standby() -> None:
    world = World(objects.service())
    world.settle()
    loaded(world, ["a"])
    assert condition(world.decide().status) == ("Unknown", Reason.LOADING)
    loaded(world, ["b"])
    status = world.decide().status
    assert condition(status) == ("True", Reason.READY)
    assert condition(status, "WarmPoolFull") == ("False", Reason.REFILLING)
    assert status.totals is not None
    assert (status.totals.serving, status.totals.warm) == ("2/2", "0/1")


def test_surplus_pods_that_were_born_serving_are_demoted_and_a_lost_one_is_replaced() -> None:
    world = World(objects.service())
    world.settle()
    loaded(world, ["a", "b", "c"])
    assert list(roles(world.decide()).values()) == ["warm"]
    loaded(world, ["c"], role="warm")
    assert roles(world.decide()) == {}
    loaded(world, ["a"], deleting=True)
    assert roles(world.decide()) == {"c": "serving"}


def test_pods_of_the_old_plan_do_not_make_the_new_generation_ready() -> None:
    world = World(objects.service())
    world.settle()
    loaded(world, ["a", "b"])
    assert condition(world.settle().status)[0] == "True"
    world.see(
        objects.service(generation=2, version=50_000, engine={"image": "vllm/vllm-openai:v0.32.0", "maxNumSeqs": 9})
    )
    status = world.settle().status
    assert (condition(status)[0], status.observed_generation) == ("Unknown", 2)
    loaded(world, ["d", "e"])
    assert condition(world.decide().status) == ("True", Reason.READY)


def test_a_rollout_in_progress_is_not_ready_even_if_all_pods_have_the_lock() -> None:
    world = World(objects.service())
    world.settle(updated=False)
    loaded(world, ["a", "b"])
    assert condition(world.decide().status)[0] == "Unknown"


def test_the_store_is_asked_once_and_the_digest_is_pinned() -> None:
    world = World(objects.service(**S3))
    outcome = world.decide()
    assert outcome.wants_model is not None
    assert (outcome.desired, condition(outcome.status)) == ((), ("Unknown", Reason.RESOLVING))
    world.model = StoredModel("sha256:aaa", 16 << 30, facts())
    first = world.settle()
    assert first.status.model is not None
    assert first.status.model.digest == "sha256:aaa"

    world.model = None  # a restart: nothing is remembered, and the store may be down
    again = world.decide()
    assert again.wants_model is None
    assert again.desired == first.desired

    world.model = StoredModel("sha256:bbb", 16 << 30, facts())
    assert world.decide().desired == first.desired


def test_a_new_release_that_plans_otherwise_does_not_touch_a_running_fleet() -> None:
    world = World(objects.service(**S3), model=StoredModel("sha256:aaa", 16 << 30, facts()))
    before = world.settle()
    render = dataclasses.replace(POLICY.render, operator_image="operator:2", default_engine_image="vllm/vllm-openai:v9")
    world.policy = dataclasses.replace(POLICY, render=render)
    world.model = StoredModel("sha256:aaa", 16 << 30, facts(num_hidden_layers=64))
    assert world.decide().desired == before.desired


def test_another_model_is_another_plan() -> None:
    world = World(objects.service(**S3), model=StoredModel("sha256:aaa", 16 << 30, facts()))
    before = world.settle()
    changed: objects.Json = {**S3, "model": {"name": "llama", "uri": "s3://models/llama-2"}}
    world.see(objects.service(generation=2, version=50_000, **changed))
    world.model = None
    waiting = world.decide()
    assert (waiting.desired, waiting.prune) == ((), ())
    assert waiting.wants_model is not None
    world.model = StoredModel("sha256:ccc", 16 << 30, facts())
    after = world.decide()
    assert after.status.pools[0].lock != before.status.pools[0].lock


def test_an_unreadable_model_is_told_and_nothing_is_started() -> None:
    world = World(objects.service(**S3), model=ModelUnreadable(Reason.MODEL_MISSING, "bucket models has no llama"))
    outcome = world.decide()
    assert outcome.desired == ()
    assert condition(outcome.status) == ("False", Reason.MODEL_MISSING)
    assert condition(outcome.status, "ModelResolved") == ("False", Reason.MODEL_MISSING)
    assert outcome.wants_model is not None, "it may appear later"


def test_no_config_is_a_warning_and_the_rollout_goes_on() -> None:
    outcome = World(objects.service(**S3), model=StoredModel("sha256:aaa", 16 << 30, None)).decide()
    assert "Deployment/chat-h100" in kinds(outcome)
    assert condition(outcome.status, "Planned") == ("True", Reason.MODEL_NOT_CHECKED)


def test_heads_that_do_not_divide_are_terminal_and_start_no_pod() -> None:
    pools = [
        {"name": "h100", "gpu": "NVIDIA-H100-80GB-HBM3", "tensorParallelSize": 8, "replicas": {"min": 1, "max": 1}}
    ]
    shape = facts(num_attention_heads=28, num_key_value_heads=28, hidden_size=3584, head_dim=128)
    outcome = World(objects.service(**S3, pools=pools), model=StoredModel("sha256:aaa", 1, shape)).decide()
    assert outcome.desired == ()
    ready = next(c for c in outcome.status.conditions if c.type == "Ready")
    assert (ready.status, ready.reason) == ("False", Reason.INVALID_PARALLELISM)
    assert "1, 2, 4, 7" in ready.message


def test_a_stored_object_that_breaks_todays_rules_keeps_its_fleet() -> None:
    world = World(objects.service())
    world.settle()
    loaded(world, ["a", "b"])
    loaded(world, ["c"], role="warm")
    world.settle()
    broken = objects.service(generation=2, version=50_000, pools=[{"name": "h100", "replicas": {"min": 50, "max": 10}}])
    world.see(broken)
    outcome = world.settle()
    assert (outcome.desired, outcome.prune) == ((), ())
    assert condition(outcome.status) == ("False", Reason.INVALID_SPEC)
    assert outcome.status.pools[0].serving == 2
    loaded(world, ["a"], ready=False)
    assert roles(world.decide()) == {"a": "warm", "c": "serving"}


def test_garbage_in_a_stored_object_does_not_crash() -> None:
    garbage: tuple[Any, ...] = (None, [], "x", {"model": 3}, {"pools": {"a": None}})
    for spec in garbage:
        body = objects.service()
        body["spec"] = spec
        body["status"] = {"pools": "none", "conditions": 7}
        outcome = World(body).decide()
        assert condition(outcome.status) == ("False", Reason.INVALID_SPEC)


def test_a_pool_that_left_the_spec_is_pruned_with_its_budget_and_nothing_of_others_is() -> None:
    pools = [
        {"name": name, "gpu": gpu, "replicas": {"min": 1, "max": 2}}
        for name, gpu in (("h100", "NVIDIA-H100-80GB-HBM3"), ("l4", "NVIDIA-L4"))
    ]
    world = World(objects.service(pools=pools))
    world.settle()
    foreign = objects.live(world.decide().desired[-1])
    foreign["metadata"] |= {"name": "foreign", "uid": "foreign", "ownerReferences": []}
    world.see(foreign)
    world.see(objects.service(generation=2, version=50_000, pools=pools[:1]))
    assert sorted(f"{c.kind}/{c.name}" for c in world.decide().prune) == [
        "Deployment/chat-l4",
        "PodDisruptionBudget/chat-l4",
    ]


def test_nothing_is_pruned_while_a_pool_has_no_plan() -> None:
    world = World(objects.service())
    world.settle()
    pools: list[objects.Json] = [{"name": "h100", "gpu": "NVIDIA-H99", "replicas": {"min": 2, "max": 4}}]
    world.see(objects.service(generation=2, version=50_000, pools=pools))
    outcome = world.decide()
    assert (outcome.desired, outcome.prune) == ((), ())
    assert condition(outcome.status) == ("False", Reason.UNKNOWN_GPU)


def test_a_name_that_is_taken_gets_another_and_a_refused_write_is_told() -> None:
    world = World(objects.service())
    outcome = world.decide(Failures(frozenset({"chat-h100"}), Reason.NAME_CONFLICT, "Service chat belongs to others"))
    (deployment,) = [m for m in outcome.desired if m["kind"] == "Deployment"]
    assert deployment["metadata"]["name"].startswith("chat-h100-")
    assert condition(outcome.status) == ("False", Reason.NAME_CONFLICT)


def test_a_transition_time_moves_only_with_the_status() -> None:
    world = World(objects.service())
    first = world.settle().status
    stamps = {c.type: c.last_transition_time for c in first.conditions}
    world.service["status"]["conditions"] = [
        {**c, "lastTransitionTime": "2020-01-01T00:00:00Z"} for c in world.service["status"]["conditions"]
    ]
    world.service["metadata"]["resourceVersion"] = "90000"
    world.cache.put(labels.KIND, world.service)
    loaded(world, ["a", "b"])
    after = {c.type: c.last_transition_time for c in world.decide().status.conditions}
    assert stamps["Ready"] == after["Ready"] == "2026-01-01T12:00:00Z"
    assert after["Planned"] == "2020-01-01T00:00:00Z"


def test_amd_pools_get_amds_label_and_resource() -> None:
    pools = [{"name": "mi", "gpu": "AMD_Instinct_MI300X_OAM", "replicas": {"min": 1, "max": 1}}]
    (deployment,) = [m for m in World(objects.service(pools=pools)).decide().desired if m["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}
    assert "amd.com/gpu" in pod["containers"][0]["resources"]["limits"]


def deployment_of(world: World) -> objects.Json:
    (manifest,) = [m for m in world.decide().desired if m["kind"] == "Deployment"]
    return manifest


@pytest.mark.parametrize("owned", [False, True])
def test_a_copy_of_a_deployment_does_not_take_the_place_of_the_fleet(owned: bool) -> None:
    world = World(objects.service())
    world.settle()
    copy = objects.live(deployment_of(world))
    copy["metadata"] |= {"name": "canary", "uid": "uid-canary"}
    if not owned:
        copy["metadata"]["ownerReferences"] = []
    world.see(copy)
    outcome = world.decide()
    assert deployment_of(world)["metadata"]["name"] == "chat-h100"
    assert [child.name for child in outcome.prune] == (["canary"] if owned else [])


def test_pods_keep_their_roles_while_neither_a_status_nor_a_plan_says_how_many_serve() -> None:
    world = World(objects.service(**S3), model=StoredModel("sha256:aaa", 16 << 30, facts()))
    world.settle()
    loaded(world, ["a", "b"])
    loaded(world, ["c"], role="warm")
    world.service["status"] = None  # wiped, or restored from a backup without it
    world.service["metadata"]["resourceVersion"] = "90000"
    world.cache.put(labels.KIND, world.service)
    world.model = None
    outcome = world.settle()
    assert roles(outcome) == {}
    assert outcome.status.totals is not None
    assert (outcome.status.totals.serving, outcome.status.totals.warm) == ("2/2", "1/1")
    world.see(objects.pod("a", deleting=True))
    assert roles(world.decide()) == {"c": "serving"}, "the count that is known again is held"


def test_a_pod_that_lost_its_role_label_gets_it_back() -> None:
    world = World(objects.service())
    world.settle()
    loaded(world, ["a", "b"])
    body = objects.pod("a", lock=world.service["status"]["pools"][0]["lock"])
    del body["metadata"]["labels"][labels.ROLE]
    world.see(body)
    assert roles(world.decide()) == {"a": "serving"}


def test_the_columns_follow_a_fleet_whose_spec_cannot_be_followed() -> None:
    world = World(objects.service())
    world.settle()
    loaded(world, ["a", "b"])
    world.settle()
    world.see(
        objects.service(generation=2, version=50_000, pools=[{"name": "h100", "replicas": {"min": 50, "max": 10}}])
    )
    loaded(world, ["a"], deleting=True)
    status = world.decide().status
    assert status.totals is not None
    assert status.totals.serving == "1/2"


def test_a_renamed_pool_keeps_what_it_ran_until_its_new_name_has_a_plan() -> None:
    world = World(objects.service(**S3), model=StoredModel("sha256:aaa", 16 << 30, facts()))
    world.settle()
    world.model = ModelUnreadable(Reason.STORE_UNREACHABLE, "the store is down")
    pools = [{"name": "hopper", "gpu": "NVIDIA-H100-80GB-HBM3", "replicas": {"min": 2, "max": 4}}]
    world.see(objects.service(generation=2, version=50_000, **S3, pools=pools))
    assert (world.decide().desired, world.decide().prune) == ((), ())
    world.model = StoredModel("sha256:aaa", 16 << 30, facts())
    assert [c.name for c in world.decide().prune] == ["chat-h100", "chat-h100"]


def test_a_status_of_a_newer_release_still_tells_the_lock() -> None:
    world = World(objects.service(**S3), model=StoredModel("sha256:aaa", 16 << 30, facts()))
    before = world.settle()
    world.service["status"]["pools"][0] |= {"quarantined": 1}
    world.service["status"]["capacity"] = {"hours": 2}
    world.service["metadata"]["resourceVersion"] = "90000"
    world.cache.put(labels.KIND, world.service)
    world.model = StoredModel("sha256:bbb", 16 << 30, facts())
    assert world.decide().desired == before.desired


def test_a_warning_of_the_planner_stays_as_long_as_its_plan() -> None:
    world = World(objects.service(**S3), model=StoredModel("sha256:aaa", 16 << 30, None))
    world.settle()
    loaded(world, ["a", "b"])
    assert condition(world.settle().status, "Planned") == ("True", Reason.MODEL_NOT_CHECKED)
    assert world.settle().status == world.settle().status


def test_a_model_that_cannot_be_planned_is_asked_for_again_and_its_mended_bytes_are_taken() -> None:
    pools = [
        {"name": "h100", "gpu": "NVIDIA-H100-80GB-HBM3", "tensorParallelSize": 8, "replicas": {"min": 1, "max": 1}}
    ]
    odd = facts(num_attention_heads=28, num_key_value_heads=28, hidden_size=3584, head_dim=128)
    world = World(objects.service(**S3, pools=pools), model=StoredModel("sha256:aaa", 1, odd))
    assert world.settle().wants_model is not None
    world.model = StoredModel("sha256:bbb", 16 << 30, facts())
    outcome = world.settle()
    assert outcome.wants_model is None
    assert outcome.status.model is not None
    assert outcome.status.model.digest == "sha256:bbb"
    assert deployment_of(world)["spec"]["template"]["spec"]["initContainers"][0]["command"][-1] == "sha256:bbb"
