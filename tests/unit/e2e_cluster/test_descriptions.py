"""What the tool writes down: nodes, stages, keys, kubeconfigs, command lines."""

import base64
import json
import stat
from pathlib import Path

import pytest
import yaml

from e2e.cluster import credentials, kind, kwok, nodes
from e2e.cluster.__main__ import node_counts, parser
from e2e.cluster.errors import ClusterError
from e2e.cluster.paths import cluster_dir, free_ports, is_free


def test_a_large_fleet_has_unique_names_and_pod_networks() -> None:
    fleet = list(nodes.fleet({"NVIDIA-H100-80GB-HBM3": 300, "NVIDIA-L4": 2}))
    assert len({n["metadata"]["name"] for n in fleet}) == 302
    assert len({n["spec"]["podCIDR"] for n in fleet}) == 302
    assert fleet[0]["metadata"]["name"] == "h100-0"
    assert fleet[0]["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert fleet[0]["status"]["capacity"]["nvidia.com/gpu"] == "8"
    assert {n["metadata"]["labels"]["topology.kubernetes.io/zone"] for n in fleet} == {"zone-a", "zone-b"}


def test_an_unknown_product_gets_a_plausible_machine() -> None:
    assert nodes.node("NVIDIA-B300_X", 0, 0)["metadata"]["name"] == "b300-x-0"
    with pytest.raises(ClusterError, match="no GPU product name"):
        nodes.machine_for("---")


def test_every_stage_is_valid_and_filled_in() -> None:
    text = kwok.stages(2.5)
    assert "@" not in "".join(line for line in text.splitlines() if not line.startswith("#"))
    names = [stage["metadata"]["name"] for stage in yaml.safe_load_all(text)]
    assert len(names) == len(set(names))
    assert '"2.5"' in text


def test_the_signing_key_is_a_p256_key_in_its_fixed_frame() -> None:
    first, second = credentials.signing_key(), credentials.signing_key()
    assert first != second
    lines = first.splitlines()
    assert (lines[0], lines[-1]) == ("-----BEGIN EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----")
    der = base64.b64decode("".join(lines[1:-1]))
    assert len(der) == 51
    assert der[0] == 0x30
    assert der[1] == len(der) - 2


def test_tokens_tell_the_users_apart() -> None:
    tokens = credentials.make_tokens()
    assert len(set(tokens.values())) == len(credentials.USERS)
    assert f'{tokens["admin"]},admin,admin,"system:masters"\n' in credentials.token_file(tokens)


def test_secrets_are_written_for_this_user_only(tmp_path: Path) -> None:
    path = credentials.write_private(tmp_path / "token", "secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_kubeconfig_stands_on_its_own(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("authority")
    config = json.loads(credentials.kubeconfig("https://127.0.0.1:1", tmp_path / "ca", "me", "token", "team-a"))
    assert base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]) == b"authority"
    assert config["contexts"][0]["context"]["namespace"] == "team-a"


@pytest.mark.parametrize("name", ["", "../etc", "A", "a" * 41, "-a", "a/b"])
def test_a_name_cannot_leave_its_folder(name: str) -> None:
    with pytest.raises(ClusterError, match="no cluster name"):
        cluster_dir(name)


def test_free_ports_are_distinct_and_free() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert all(is_free(port) for port in ports)


def test_nodes_on_the_command_line() -> None:
    assert node_counts(["NVIDIA-L4=2", "NVIDIA-L40S=1"]) == {"NVIDIA-L4": 2, "NVIDIA-L40S": 1}
    assert sum(node_counts([]).values()) == 16
    with pytest.raises(ClusterError, match="give PRODUCT=COUNT"):
        node_counts(["NVIDIA-L4"])


def test_the_command_line_names_its_commands() -> None:
    arguments = parser().parse_args(["up", "--name", "x", "--nodes", "NVIDIA-L4=1", "--on", "kind"])
    assert (arguments.name, arguments.nodes, arguments.on) == ("x", ["NVIDIA-L4=1"], "kind")


def test_kind_says_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="not found: docker, kind"):
        kind.up(name="x")
