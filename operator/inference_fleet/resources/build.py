"""All children of one service."""

from inference_fleet.resources.deployment import deployment
from inference_fleet.resources.inputs import Fleet, Manifest
from inference_fleet.resources.poddisruptionbudget import disruption_budget
from inference_fleet.resources.service import client_service, engines_service


def build_all(fleet: Fleet) -> tuple[Manifest, ...]:
    """Every object the operator keeps for a service, in the order in which they are applied.

    Services and budgets before the pods that they select, so that no pod is without its budget.
    """
    return (
        client_service(fleet),
        engines_service(fleet),
        *(disruption_budget(fleet, target) for target in fleet.pools),
        *(deployment(fleet, target) for target in fleet.pools),
    )
