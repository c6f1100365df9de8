"""Names of children: readable where they fit, shortened with a stable hash where they do not.

A name is kept as it is when it is a DNS-1035 label (what a Service needs: a letter first, no dots, at most 63
characters). Else it is cleaned, cut and given a hash of the original, so that two long names stay distinct.
"""

import hashlib
import re

MAX_LABEL = 63
ENGINES_SUFFIX = "-engines"
"""What the headless Service has over the client Service; a service itself may not be named so."""
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_CUT = re.compile(r".{54}-[0-9a-f]{8}")


def stable_hash(text: str, length: int = 8) -> str:
    """The first hex digits of the SHA-256 of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _shorten(text: str, cleaned: str) -> str:
    digest = stable_hash(text)
    return f"{cleaned[: MAX_LABEL - len(digest) - 1].rstrip('-._')}-{digest}"


def dns_label(text: str) -> str:
    """`text` as a DNS-1035 label: itself if it is one, else cleaned, cut and hashed."""
    if len(text) <= MAX_LABEL and _DNS_1035.fullmatch(text):
        return text
    cleaned = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"
    if not cleaned[0].isalpha():
        cleaned = f"x{cleaned}"
    return _shorten(text, cleaned)


def label_value(text: str) -> str:
    """`text` as a label value: itself if it is legal, else cleaned, cut and hashed.

    A name that is written like a cut and hashed one is hashed too, or its pods would pass for those of the long name.
    """
    if len(text) <= MAX_LABEL and _LABEL_VALUE.fullmatch(text) and not _CUT.fullmatch(text):
        return text
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._") or "x"
    return f"{cleaned[: MAX_LABEL - 9]}-{stable_hash(text)}"


def client_service(service: str) -> str:
    """The ClusterIP Service that clients use."""
    return dns_label(service)


def engines_service(service: str) -> str:
    """The headless Service over serving pods."""
    return dns_label(f"{service}{ENGINES_SUFFIX}")


def pool_child(service: str, pool: str) -> str:
    """The Deployment and PodDisruptionBudget of a pool."""
    return dns_label(f"{service}-{pool}")


def pool_child_fallback(service: str, pool: str) -> str:
    """The name taken when `pool_child` belongs to somebody else (`chat` + `h100-a` and `chat-h100` + `a`)."""
    return _shorten(f"{service}/{pool}", dns_label(f"{service}-{pool}"))
