"""Names that are long, odd or meet: every child exists, and nobody's child is shared (B01, B32)."""

import functools
import json

import pytest

from inference_fleet.api import labels
from inference_fleet.api.names import label_value
from tests.controlplane.fleet import A100, Fleet, pool, service


@pytest.mark.parametrize("name", ["qwen2.5-0.5b", "7b-chat", "vllm", "x" * 63, "long." * 30 + "name"])
def test_every_legal_name_gets_all_its_children(fleet: Fleet, name: str) -> None:
    fleet.apply(service(name, pool("h100-80gb-sxm", serving=1)))
    fleet.until_ready(name)
    label = label_value(name)
    assert len(fleet.children(label, "deployments")) == len(fleet.children(label, "pdb")) == 1
    assert len(fleet.children(label, "services")) == 2
    for pod in fleet.pods(label):
        assert pod["spec"]["enableServiceLinks"] is False


def test_two_long_names_that_begin_alike_share_nothing(fleet: Fleet) -> None:
    names = ["m" * 60 + "-a", "m" * 60 + "-b"]
    for name in names:
        fleet.apply(service(name, pool("h100-80gb-sxm", serving=1)))
    for name in names:
        fleet.until_ready(name)
    deployments = json.loads(fleet.kubectl("get", "deployments", "-o", "json"))["items"]
    owners = {d["metadata"]["ownerReferences"][0]["name"] for d in deployments}
    assert (len(deployments), owners) == (2, set(names))


def test_names_that_concatenate_alike_get_children_of_their_own(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool("h100-a", serving=2)))
    fleet.apply(service("chat-h100", pool("a", serving=1)))
    fleet.until_ready("chat")
    fleet.until_ready("chat-h100")
    for name, count in (("chat", 2), ("chat-h100", 1)):
        owner = fleet.get("inferenceservice", name)["metadata"]["uid"]
        (deployment,) = fleet.children(name, "deployments")
        assert deployment["metadata"]["ownerReferences"][0]["uid"] == owner
        serving = {pod["metadata"]["uid"] for pod in fleet.pods(name, role="serving")}
        assert len(serving) == count
        reached = functools.partial(_reaches, fleet, name, serving)
        fleet.until(f"{name} reaching its own serving pods", reached)


def _reaches(fleet: Fleet, service: str, serving: set[str]) -> bool:
    return fleet.endpoints(service) == serving


def test_an_object_of_somebody_else_is_never_taken_over(fleet: Fleet) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "chat"},
        "spec": {"ports": [{"name": "web", "port": 80}]},
    }
    fleet.kubectl("create", "-f", "-", stdin=json.dumps(foreign))
    fleet.kubectl("create", "deployment", "chat-h100", "--image=web:1")
    fleet.apply(service("chat", pool(serving=1)))
    told = fleet.until_reason("NameConflict")
    assert "Service chat" in told["message"]
    assert "selector" not in fleet.get("service", "chat")["spec"], "nothing of the fleet's was merged into it"
    assert fleet.get("deployment", "chat-h100")["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"
    (ours,) = fleet.until("the pool having a Deployment of its own", lambda: fleet.children("chat", "deployments"))
    assert ours["metadata"]["name"] != "chat-h100"
    fleet.kubectl("delete", "service", "chat")
    fleet.until_ready(seconds=60)


def test_model_names_of_any_shape_stay_out_of_labels(fleet: Fleet) -> None:
    for number, model in enumerate(["Meta-Llama/Llama-3.2_3B.Instruct", "m" * 120]):
        name = f"model-{number}"
        fleet.apply(service(name, pool("a100", A100, serving=1), model={"name": model, "uri": "pvc://models/tiny"}))
        fleet.until_ready(name)
        (pod, *_) = fleet.pods(name, role="serving")
        args = pod["spec"]["containers"][0]["args"]
        assert args[args.index("--served-model-name") + 1] == model
        assert pod["metadata"]["annotations"][labels.MODEL_NAME] == model
