"""All children of one service."""

from inference_fleet.resources.inputs import Fleet, Manifest


def build_all(fleet: Fleet) -> tuple[Manifest, ...]:
    """Every object the operator keeps for a service, in the order in which they are applied."""
    raise NotImplementedError
