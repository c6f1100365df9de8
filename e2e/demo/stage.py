"""What the story needs of the place where it plays: this machine, or kind."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from e2e.cluster import Cluster
from e2e.demo.show import Step

NAME = "demo"
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".demo"
"""The models and the services as applied: short paths for a reader to go on with. Git ignores it."""
BUCKET = "models"


@dataclass(frozen=True)
class Store:
    """The S3 store as pods and operator reach it, with its one key pair."""

    endpoint: str
    access_key: str
    secret_key: str


@dataclass(frozen=True)
class Hints:
    """How to go on looking at the operator: commands, or an address."""

    log: str
    metrics: str


class Stage(Protocol):
    """One kind of cluster."""

    still: bool
    """Whether other programs write to the screen while it is set up."""

    def start(self, step: Step) -> Cluster:
        """Bring the cluster up; nothing is left where that fails."""

    def operator(self, cluster: Cluster, step: Step) -> Hints:
        """Install definition, rights and operator, and wait until it is ready."""

    def operator_log(self, cluster: Cluster) -> str:
        """The operator's last lines."""

    def store(self, cluster: Cluster, step: Step, files: dict[str, bytes]) -> Store:
        """Start an S3 store and put files into the bucket."""

    def end(self, cluster: Cluster) -> None:
        """End everything."""
