from inference_fleet.api import labels
from inference_fleet.resources.build import build_all
from tests.unit.resources.fleets import engine_of, fleet, of_kind, template_of


def test_clients_and_routers_reach_the_serving_pods_of_this_service_only() -> None:
    services = of_kind(build_all(fleet()), "Service")
    assert [service["metadata"]["name"] for service in services] == ["chat", "chat-engines"]
    for service in services:
        assert service["spec"]["selector"] == {labels.SERVICE: "chat", labels.ROLE: labels.ROLE_SERVING}
        assert "publishNotReadyAddresses" not in service["spec"]


def test_the_engines_service_is_headless_and_the_other_is_not() -> None:
    clients, engines = (service["spec"] for service in of_kind(build_all(fleet()), "Service"))
    assert engines["clusterIP"] == "None"
    assert clients["type"] == "ClusterIP"
    assert "clusterIP" not in clients


def test_the_port_of_both_leads_to_the_engines_port() -> None:
    ports = {port["name"]: port["containerPort"] for port in engine_of(fleet())["ports"]}
    for service in of_kind(build_all(fleet()), "Service"):
        (port,) = service["spec"]["ports"]
        assert (port["name"], port["port"], ports[port["targetPort"]]) == ("http", 8000, 8000)


def test_services_whose_names_concatenate_alike_do_not_share_pods() -> None:
    def selected(by: str, name: str, pool: str) -> bool:
        selector = of_kind(build_all(fleet(name=by)), "Service")[0]["spec"]["selector"]
        raw = {
            "model": {"name": "tiny", "uri": "s3://models/tiny"},
            "pools": [{"name": pool, "gpu": "NVIDIA-L4", "replicas": {"min": 1, "max": 1}}],
        }
        pod_labels = template_of(fleet(raw, name=name))["metadata"]["labels"]
        return bool(selector.items() <= pod_labels.items())

    assert selected("chat", "chat", "h100-a")
    assert selected("chat-h100", "chat-h100", "a")
    assert not selected("chat", "chat-h100", "a")
    assert not selected("chat-h100", "chat", "h100-a")
