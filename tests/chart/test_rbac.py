"""What the operator may do: exactly what it does, nowhere more than the values say."""

from typing import Any

import pytest

from e2e.manifests import NAMESPACE
from tests.chart.conftest import Objects, Render, kind
from tests.chart.values import ALL

CHILD = {"get", "list", "watch", "create", "patch", "delete"}
NEEDED = {
    ("inferencefleet.io", "inferenceservices"): {"get", "list", "watch"},
    ("inferencefleet.io", "inferenceservices/status"): {"get", "patch"},
    ("inferencefleet.io", "inferenceservices/finalizers"): {"update"},
    ("apps", "deployments"): CHILD,
    ("", "services"): CHILD,
    ("policy", "poddisruptionbudgets"): CHILD,
    ("", "pods"): {"get", "list", "watch", "patch"},
    ("", "configmaps"): {"get"},
    ("", "events"): {"create", "patch"},
    ("events.k8s.io", "events"): {"create", "patch"},
}
SECRETS = {("", "secrets"): {"get"}}
LEASE = {("coordination.k8s.io", "leases"): {"get", "create", "update"}}

Rights = dict[tuple[str, str], set[str]]


def rights_of_the_operator(objects: Objects) -> dict[str | None, Rights]:
    """By namespace (None: everywhere), by API group and resource: what the bound roles allow."""
    (deployment,) = kind(objects, "Deployment")
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    found: dict[str | None, Rights] = {}
    for binding in kind(objects, "RoleBinding") + kind(objects, "ClusterRoleBinding"):
        assert [subject["name"] for subject in binding["subjects"]] == [account]
        namespace = binding["metadata"].get("namespace")
        (role,) = (
            role
            for role in kind(objects, binding["roleRef"]["kind"])
            if role["metadata"]["name"] == binding["roleRef"]["name"] and role["metadata"].get("namespace") == namespace
        )
        rights = found.setdefault(namespace, {})
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    rights.setdefault((group, resource), set()).update(rule["verbs"])
    return found


def test_by_default_the_operator_has_exactly_what_it_needs_everywhere(render: Render) -> None:
    assert rights_of_the_operator(render()) == {None: NEEDED | SECRETS, NAMESPACE: LEASE}


def test_secrets_can_be_limited_to_namespaces(render: Render) -> None:
    rights = rights_of_the_operator(render({"secrets": {"namespaces": ["team-a"]}}))
    assert rights == {None: NEEDED, "team-a": SECRETS, NAMESPACE: LEASE}


def test_with_listed_namespaces_nothing_is_allowed_elsewhere(render: Render) -> None:
    watched = {"watch": {"namespaces": ["team-a", "team-b"]}}
    objects = render(watched)
    everything = NEEDED | SECRETS
    assert rights_of_the_operator(objects) == {"team-a": everything, "team-b": everything, NAMESPACE: LEASE}
    assert kind(objects, "ClusterRoleBinding") == []
    rights = rights_of_the_operator(render(watched | {"secrets": {"namespaces": ["team-b"]}}))
    assert rights == {"team-a": NEEDED, "team-b": everything, NAMESPACE: LEASE}


@pytest.mark.parametrize("values", ALL.values(), ids=ALL.keys())
def test_no_role_has_a_wildcard_or_lists_secrets(render: Render, values: dict[str, Any]) -> None:
    objects = render(values)
    for role in kind(objects, "Role") + kind(objects, "ClusterRole"):
        for rule in role["rules"]:
            assert not any("*" in entry for field in rule.values() for entry in field)
            assert "secrets" not in rule["resources"] or rule["verbs"] == ["get"]


def test_the_clusters_own_roles_cover_the_kind(render: Render) -> None:
    def aggregated(objects: Objects, role: str) -> set[str]:
        label = f"rbac.authorization.k8s.io/aggregate-to-{role}"
        return {
            verb
            for document in kind(objects, "ClusterRole")
            if document["metadata"]["labels"].get(label) == "true"
            for rule in document["rules"]
            for verb in rule["verbs"]
        }

    objects = render()
    read = {"get", "list", "watch"}
    write = {"create", "update", "patch", "delete", "deletecollection"}
    assert aggregated(objects, "view") == read
    assert aggregated(objects, "edit") == aggregated(objects, "admin") == read | write
    assert aggregated(render({"rbac": {"aggregateRoles": False}}), "view") == set()


def test_two_releases_do_not_share_cluster_wide_names(render: Render) -> None:
    def names(*arguments: str, **options: str) -> set[str]:
        objects = render({}, *arguments, **options)
        return {role["metadata"]["name"] for role in kind(objects, "ClusterRole") + kind(objects, "ClusterRoleBinding")}

    assert not names() & names("--namespace", "elsewhere")
    assert not names() & names(release="second")
