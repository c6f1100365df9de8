"""Does the live object still say what was applied?

Meaning is compared, not text: what the live object has more (defaults, a sidecar, a restart stamp, another manager's
fields) is not drift; `1000m` is `1`. Lists that the API server merges by a key are matched by that key, all others
(arguments, commands, tolerations) must be equal item by item.
"""

import re
from decimal import Decimal
from typing import Any

_MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "volumeMounts": ("mountPath",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti)?")
_SUFFIX = {
    None: Decimal(1),
    "m": Decimal("0.001"),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
}
_QUANTITY_FIELDS = {"requests", "limits", "sizeLimit"}


def in_sync(desired: Any, live: Any, field: str = "") -> bool:
    """Whether every value of `desired` stands in `live`."""
    if isinstance(desired, dict):
        return isinstance(live, dict) and all(
            key in live and in_sync(value, live[key], field if field in _QUANTITY_FIELDS else key)
            for key, value in desired.items()
        )
    if isinstance(desired, list | tuple):
        return isinstance(live, list) and _lists_in_sync(list(desired), live, field)
    if desired == live and isinstance(desired, bool) == isinstance(live, bool):
        return True
    return field in _QUANTITY_FIELDS and _quantity(desired) == _quantity(live) is not None


def _lists_in_sync(desired: list[Any], live: list[Any], field: str) -> bool:
    keys = _MERGE_KEYS.get(field)
    if keys is None:
        return len(desired) == len(live) and all(map(in_sync, desired, live))
    by_key = {tuple(item.get(key) for key in keys): item for item in live}
    return all(in_sync(item, by_key.get(tuple(item.get(key) for key in keys))) for item in desired)


def _quantity(value: Any) -> Decimal | None:
    parsed = _QUANTITY.fullmatch(str(value))
    return Decimal(parsed[1]) * _SUFFIX[parsed[2]] if parsed else None
