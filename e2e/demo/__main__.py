"""`python -m e2e.demo [local|kind]`: tell the story; `--down` ends it."""

import argparse
import shutil
import signal
import sys
from contextlib import suppress

from e2e.cluster import ClusterError
from e2e.cluster import kind as kind_tool
from e2e.cluster.paths import cluster_dir
from e2e.cluster.processes import Processes
from e2e.demo import story
from e2e.demo.kind import Kind
from e2e.demo.local import Local
from e2e.demo.show import Screen
from e2e.demo.stage import NAME, Stage


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(prog="python -m e2e.demo", description="Two models on a local cluster")
    top.add_argument("cluster", nargs="?", choices=("local", "kind"), default="local", help="what runs the cluster")
    top.add_argument("--down", action="store_true", help="end the demo, whatever runs it")
    return top


def down() -> None:
    """End the demo; one that is not up is no error. kind's containers are ended even if the tool was killed."""
    state = cluster_dir(NAME)
    if (state / "kind.kubeconfig").exists():
        with suppress(ClusterError):
            kind_tool.down(NAME)
        shutil.rmtree(state, ignore_errors=True)
    elif not story.up():
        print("the demo is not up")
        return
    else:
        Processes.connect(state).down()
    story.remove_folder()
    print("the demo is down; nothing of it is left")


def demo(kind: str) -> None:
    """Tell the story, or show what is up already."""
    stage: Stage = Kind() if kind == "kind" else Local()
    screen = Screen(still=stage.still)
    screen.heading("Inference fleet demo: two models over four GPU types, on a real control plane")
    if story.up():
        story.show_again(screen)
        return
    try:
        story.tell(screen, stage)
    except BaseException:
        story.remove_folder()
        raise


def main() -> int:
    """Run; what goes wrong is told without a traceback."""
    arguments = parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled CI job is cleaned up like Ctrl-C
    try:
        if arguments.down:
            down()
        else:
            demo(arguments.cluster)
    except ClusterError as error:
        sys.stdout.flush()
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted: what was started is ended", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
