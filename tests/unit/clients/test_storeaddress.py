from ipaddress import ip_network

import pytest

from inference_fleet.clients.storeaddress import refused_address


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.0.9", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("169.254.169.254", "metadata"),
        ("::ffff:169.254.169.254", "metadata"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        ("2002:a9fe:a9fe::", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("169.254.170.2", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("0.0.0.0", "unspecified"),  # noqa: S104 - judged, not bound
        ("::", "unspecified"),
        ("0.1.2.3", "no address of a host"),
        ("255.255.255.255", "no address of a host"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("10.96.0.1", "API server"),
        ("::ffff:10.96.0.1", "API server"),
    ],
)
def test_refused(address: str, said: str) -> None:
    assert said in (refused_address(address, api_server=["10.96.0.1"]) or "allowed")


@pytest.mark.parametrize("address", ["10.0.0.5", "192.168.1.9", "52.216.1.1", "fd00::5", "2600:1f60::1"])
def test_stores_of_the_cluster_and_of_the_world_are_allowed(address: str) -> None:
    assert refused_address(address, api_server=["10.96.0.1"]) is None


def test_an_allowed_network_wins() -> None:
    networks = [ip_network("127.0.0.0/8"), ip_network("fd00:ec2::/32")]

    assert refused_address("127.0.0.1", networks) is None
    assert refused_address("fd00:ec2::254", networks) is None
    assert refused_address("169.254.169.254", networks) == "a metadata service"
