"""The planner: a spec, a model's facts and the catalogue in; one plan per pool out."""

from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.plan import PoolPlan


def plan_service(
    spec: InferenceServiceSpec,
    facts: ModelFacts | None,
    catalog: GpuCatalog,
    *,
    default_image: str,
    model_digest: str | None = None,
) -> tuple[PoolPlan, ...]:
    """Plan every pool of a service. `facts` is None where the model could not be read: nothing is checked then."""
    raise NotImplementedError
