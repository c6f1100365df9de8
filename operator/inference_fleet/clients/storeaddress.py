"""Which addresses the operator refuses to read a model from.

The endpoint comes from whoever writes an InferenceService. The operator sits in a network position that they do not
have: without this check, an endpoint of theirs would make it ask the node, the cloud's metadata service or the API
server on their behalf.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_METADATA = frozenset(
    ip_address(address)
    for address in (
        "169.254.169.254",  # AWS, Azure, GCP, OpenStack
        "fd00:ec2::254",  # AWS over IPv6
        "100.100.100.200",  # Alibaba Cloud
        "168.63.129.16",  # Azure's wire server
        "fd20:ce::254",  # GCP over IPv6
    )
)


def refused_address(
    address: str | Address, allowed: Sequence[Network] = (), api_server: Sequence[str | Address] = ()
) -> str | None:
    """Why an address is refused, as the end of "... is ..."; None if it may be used.

    An IPv4 address in an IPv6 form (mapped, 6to4, NAT64) is judged as the IPv4 address it reaches.

    Raises:
        ValueError: when `address` is not an IP address.
    """
    ip = _unwrapped(ip_address(str(address).partition("%")[0]))
    if any(ip in network for network in allowed):
        return None
    if ip in _METADATA:
        return "a metadata service"
    if ip.is_loopback:
        return "a loopback address"
    if ip.is_unspecified:
        return "the unspecified address"
    if ip.is_link_local:
        return "a link-local address"
    if ip.is_multicast:
        return "a multicast address"
    if ip == IPv4Address("255.255.255.255") or (ip.version == 4 and ip in IPv4Network("0.0.0.0/8")):
        return "no address of a host"
    if any(ip == _unwrapped(ip_address(str(host))) for host in api_server):
        return "the Kubernetes API server"
    return None


_NAT64 = IPv6Network("64:ff9b::/96")


def _unwrapped(ip: Address) -> Address:
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped:
            return ip.ipv4_mapped
        if ip.sixtofour:
            return ip.sixtofour
        if ip in _NAT64:
            return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip
