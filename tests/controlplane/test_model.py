"""Models in a real S3 store: read with the service's own credentials, planned, pinned, and told when missing."""

import base64
import json
import secrets
import socket

import pytest

from e2e.cluster import S3, Cluster
from e2e.operator_process import USER
from tests.controlplane.fleet import Fleet, Json, pool, service

BUCKET = "models"


def llama(layers: int = 32) -> dict[str, bytes]:
    """A description of an 8B model with stand-in weights."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": layers,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
    }
    index = {
        "metadata": {"total_size": 16_060_522_496},
        "weight_map": {"model.embed_tokens.weight": "model-00001-of-00001.safetensors"},
    }
    return {
        "config.json": json.dumps(config).encode(),
        "model.safetensors.index.json": json.dumps(index).encode(),
        "model-00001-of-00001.safetensors": b"stand-in weights",
    }


@pytest.fixture
def prefix(s3: S3) -> str:
    """A place for a model in the store."""
    return f"llama-{secrets.token_hex(4)}"


def upload(s3: S3, prefix: str, files: dict[str, bytes]) -> None:
    s3.put(BUCKET, {f"{prefix}/{name}": content for name, content in files.items()})


def make_secret(fleet: Fleet, s3: S3, name: str = "models-s3") -> None:
    values = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
    fleet.kubectl("create", "-f", "-", stdin=json.dumps(secret))


def stored_service(s3: S3, prefix: str, name: str = "chat", **spec: object) -> Json:
    store = {"endpoint": s3.endpoint, "region": s3.region, "credentialsSecret": "models-s3"}
    model = {"name": "llama", "uri": f"s3://{BUCKET}/{prefix}", "store": store}
    return service(name, pool("h100", serving=1), model=model, engine={}, **spec)


def test_the_plan_comes_from_the_models_own_files_and_every_pod_pulls_the_same_bytes(
    fleet: Fleet, s3: S3, prefix: str
) -> None:
    upload(s3, prefix, llama())
    make_secret(fleet, s3)
    fleet.apply(stored_service(s3, prefix))
    status = fleet.until_ready()

    assert status["model"]["digest"].startswith("sha256:")
    assert status["model"]["weightsBytes"] == 16_060_522_496
    (planned,) = status["pools"]
    assert planned["engine"]["tensorParallelSize"] == 1
    assert planned["kvCacheTokens"] > planned["engine"]["maxModelLen"]

    template = fleet.get("deployment", "chat-h100")["spec"]["template"]["spec"]
    (pull,) = template["initContainers"]
    assert pull["command"][:3] == ["inference-fleet", "pull", f"s3://{BUCKET}/{prefix}"]
    assert pull["command"][-2:] == ["--digest", status["model"]["digest"]]

    everything = fleet.kubectl("get", "inferenceservices,deployments,events", "-o", "json")
    assert s3.secret_key not in everything


def test_new_bytes_under_the_same_uri_roll_nothing(fleet: Fleet, s3: S3, prefix: str) -> None:
    upload(s3, prefix, llama())
    make_secret(fleet, s3)
    fleet.apply(stored_service(s3, prefix))
    before = fleet.until_ready()["model"]
    generation = fleet.get("deployment", "chat-h100")["metadata"]["generation"]
    upload(s3, prefix, llama(layers=40))
    fleet.patch("chat", {"pools": [pool("h100", serving=1, most=9)]})
    assert fleet.until_ready()["model"] == before
    assert fleet.get("deployment", "chat-h100")["metadata"]["generation"] == generation


def test_what_is_missing_is_named_and_its_coming_is_noticed(fleet: Fleet, s3: S3, prefix: str) -> None:
    fleet.apply(stored_service(s3, prefix))
    assert "models-s3" in fleet.until_reason("CredentialsMissing")["message"]
    assert fleet.children("chat", "deployments") == []
    make_secret(fleet, s3)
    told = fleet.until_reason("ModelMissing")
    assert told["status"] == "False"
    assert prefix in told["message"]
    upload(s3, prefix, llama())
    fleet.until_ready(seconds=60)


def test_wrong_credentials_are_told_without_being_shown(fleet: Fleet, s3: S3, prefix: str) -> None:
    upload(s3, prefix, llama())
    wrong = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": "not-the-secret-key"}
    literals = [f"--from-literal={key}={value}" for key, value in wrong.items()]
    fleet.kubectl("create", "secret", "generic", "models-s3", *literals)
    fleet.apply(stored_service(s3, prefix))
    message = fleet.until_reason("StoreForbidden")["message"]
    assert "not-the-secret-key" not in message
    assert s3.access_key not in message


def test_a_store_that_hangs_delays_nobody_else(fleet: Fleet, s3: S3, prefix: str) -> None:
    make_secret(fleet, s3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for number in range(12):
            hung = stored_service(s3, f"{prefix}-{number}", f"hung-{number}")
            hung["spec"]["model"]["store"]["endpoint"] = endpoint
            fleet.apply(hung)
        fleet.apply(service("chat", pool(serving=1)))
        fleet.until_ready("chat", seconds=10)


def test_a_service_whose_secret_is_gone_is_deleted_all_the_same(fleet: Fleet, s3: S3, prefix: str) -> None:
    upload(s3, prefix, llama())
    make_secret(fleet, s3)
    fleet.apply(stored_service(s3, prefix))
    fleet.until_ready()
    fleet.kubectl("delete", "secret", "models-s3")
    fleet.kubectl("delete", "inferenceservice", "chat", "--timeout=10s")
    fleet.until("its pods being gone", lambda: fleet.children("chat", "pods") == [], seconds=60)


def test_a_namespace_that_forbids_host_paths_says_so_and_admits_a_cache_of_the_pod(
    fleet: Fleet, s3: S3, prefix: str
) -> None:
    fleet.kubectl("label", "namespace", fleet.namespace, "pod-security.kubernetes.io/enforce=restricted")
    upload(s3, prefix, llama())
    make_secret(fleet, s3)
    fleet.apply(stored_service(s3, prefix))
    assert "hostPath" in fleet.until_reason("PolicyRefused")["message"]
    fleet.patch("chat", {"cache": {"type": "Ephemeral"}})
    fleet.until_ready(seconds=60)


@pytest.mark.parametrize(
    ("verb", "allowed"), [("get", True), ("list", False), ("watch", False), ("create", False), ("update", False)]
)
def test_the_operator_may_read_secrets_by_name_only(cluster: Cluster, fleet: Fleet, verb: str, allowed: bool) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": USER,
            "resourceAttributes": {"namespace": fleet.namespace, "verb": verb, "resource": "secrets"},
        },
    }
    answer = cluster.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer["status"]["allowed"] is allowed
