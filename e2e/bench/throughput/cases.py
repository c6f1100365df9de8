"""From rows to cases: the model planned on the GPU of the row, as `inference-fleet size` would."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from e2e.bench.throughput.rows import Group, Row
from e2e.bench.throughput.shapes import Shapes
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.throughput.coefficients import Coefficients, speed_of
from inference_fleet.throughput.estimate import Point, Replica, estimate
from inference_fleet.throughput.replica import Hardware, Planned, size_replica

_IMAGE = "vllm/vllm-openai:v0.20.0"
Families = Mapping[str, Coefficients]


@dataclass(frozen=True, slots=True)
class Case:
    """A row and the replica that it was measured on."""

    row: Row
    replica: Replica

    @property
    def family(self) -> str:
        """Whose coefficients hold."""
        return self.replica.engine.speed.family

    @property
    def below_knee(self) -> bool:
        """Whether the plan has room for all of the row's requests."""
        return self.row.concurrency <= self.replica.slots(self.row.input_tokens, self.row.output_tokens)

    def point(self, families: Families | None = None) -> Point:
        """The estimate, with the coefficients that are shipped or with others."""
        row, replica = self.row, self.replica
        if families is not None:
            engine = replace(replica.engine, coefficients=families[self.family])
            replica = replace(replica, engine=engine)
        return estimate(replica, row.input_tokens, row.output_tokens, row.concurrency)


def read_labels(path: Path) -> dict[str, str]:
    """The node label of each GPU of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        return {row["name"]: row["gfd_product_label"].rsplit("=", 1)[-1] for row in csv.DictReader(file)}


def make_cases(rows: Sequence[Row], shapes: Shapes, labels: Mapping[str, str]) -> tuple[list[Case], dict[Group, str]]:
    """The cases of the rows, and why groups were left out."""
    cases: list[Case] = []
    skipped: dict[Group, str] = {}
    for row in rows:
        made = _made(row, shapes, labels)
        if isinstance(made, Case):
            cases.append(made)
        else:
            skipped[row.group] = made
    return cases, skipped


def _made(row: Row, shapes: Shapes, labels: Mapping[str, str]) -> Case | str:
    catalog = GpuCatalog.builtin()
    facts = shapes.facts(row.model, row.weight_dtype)
    if facts is None:
        return "the table of models does not describe it"
    gpu = catalog.find(labels.get(row.gpu, row.gpu))
    speed = speed_of(gpu.product) if gpu else None
    if gpu is None or speed is None:
        return "the GPU is not in the catalogue"
    length, dtype = row.input_tokens + row.output_tokens, "fp8" if row.kv_dtype == "fp8" else "auto"
    planned = Planned(facts, catalog, _IMAGE, longest=length, typical=length, kv_cache_dtype=dtype)
    sizing = size_replica(planned, Hardware(gpu, speed), row.tp)
    return Case(row, sizing.replica) if sizing.replica else f"refused: {sizing.refusals[-1]}"
