"""`python -m e2e.cluster`: bring local clusters up and down."""

import argparse
import sys
from collections.abc import Sequence

from e2e.cluster import kind
from e2e.cluster.cluster import Cluster, to_stderr
from e2e.cluster.errors import ClusterError
from e2e.cluster.nodes import DEFAULT_FLEET
from e2e.cluster.paths import cluster_dir, clusters_dir
from e2e.cluster.processes import Processes, is_up


def node_counts(values: Sequence[str]) -> dict[str, int]:
    """Read `--nodes PRODUCT=COUNT`; none given means the default fleet."""
    counts: dict[str, int] = {}
    for value in values:
        product, _, count = value.rpartition("=")
        if not product or not count.isdigit():
            raise ClusterError(f"--nodes {value}: give PRODUCT=COUNT, for example NVIDIA-L4=4")
        counts[product] = int(count)
    return counts or dict(DEFAULT_FLEET)


def up(arguments: argparse.Namespace) -> None:
    """Start a cluster that outlives this command; one that is up already is left as it is."""
    if is_up(cluster_dir(arguments.name)):
        cluster = Cluster.attach(arguments.name)
        to_stderr(f"{arguments.name} is already up")
    elif arguments.on == "kind":
        nodes = node_counts(arguments.nodes)
        cluster = kind.up(name=arguments.name, nodes=nodes, load_seconds=arguments.load_seconds)
        cluster.detach()
    else:
        cluster = Cluster.up(
            name=arguments.name,
            nodes=node_counts(arguments.nodes),
            audit=arguments.audit,
            node_grace_seconds=arguments.node_grace_seconds,
            load_seconds=arguments.load_seconds,
        )
        cluster.detach()
    with cluster:
        print(f"export KUBECONFIG={cluster.kubeconfig}")


def down(arguments: argparse.Namespace) -> None:
    """End a cluster; one that is not up is no error, so that cleaning up can be said twice."""
    if not is_up(cluster_dir(arguments.name)):
        to_stderr(f"{arguments.name} is not up")
        return
    if arguments.on == "kind":
        kind.down(arguments.name)
    else:
        Processes.connect(cluster_dir(arguments.name)).down()
    to_stderr(f"{arguments.name} is down")


def status(arguments: argparse.Namespace) -> None:
    """Show the processes of one cluster, and fail where one of them has ended."""
    with Cluster.attach(arguments.name) as cluster:
        processes = cluster.processes.list()
        print(f"server      {cluster.server}")
        print(f"kubeconfig  {cluster.kubeconfig}\n")
        print(f"{'PROCESS':<26}{'PID':<10}{'STATE':<14}LOG")
        for process in processes:
            state = "running" if process.exit is None else f"exited ({process.exit})"
            print(f"{process.name:<26}{process.pid:<10}{state:<14}{cluster.processes.log_file(process.name)}")
    ended = [process.name for process in processes if process.exit is not None]
    if ended:
        raise ClusterError(f"{', '.join(ended)} ended")


def show_list(_: argparse.Namespace) -> None:
    """Show every cluster of this user that is up."""
    folders = sorted(clusters_dir().iterdir()) if clusters_dir().exists() else []
    print(f"{'NAME':<24}KUBECONFIG")
    for folder in folders:
        if is_up(folder):
            print(f"{folder.name:<24}{folder / 'admin.kubeconfig'}")


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(prog="python -m e2e.cluster", description="Local clusters with simulated GPU nodes")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name, run in {"up": up, "down": down, "status": status, "list": show_list}.items():
        command = commands.add_parser(name, help=(run.__doc__ or "").splitlines()[0], description=run.__doc__)
        command.set_defaults(run=run)
        if name != "list":
            command.add_argument("--name", default="demo", help="which cluster (default: %(default)s)")
        if name in ("up", "down"):
            command.add_argument("--on", choices=("local", "kind"), default="local", help="what runs the control plane")
        if name == "up":
            command.add_argument(
                "--nodes", action="append", default=[], metavar="PRODUCT=COUNT", help="GPU nodes, 8 GPUs each; repeat"
            )
            command.add_argument("--audit", action="store_true", help="log every write to audit.log")
            command.add_argument("--node-grace-seconds", type=int, help="silence after which a node is lost")
            command.add_argument("--load-seconds", type=float, default=2, help="start of a container to Ready")
    return top


def main() -> int:
    """Run one command; what goes wrong is told without a traceback."""
    arguments = parser().parse_args()
    try:
        arguments.run(arguments)
    except ClusterError as error:
        to_stderr(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        to_stderr("interrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
