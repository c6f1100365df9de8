"""The `inference-fleet` command: one module per subcommand, imported only when it is called.

Importing everything would cost `plan` more than a second for kopf and the Kubernetes client that it never uses.
"""

import importlib
import sys

import click

_COMMANDS = {
    "plan": "The memory bill and the lock of each pool, without a cluster.",
    "render": "Every object the operator would create, as YAML.",
    "size": "How fast a replica is, and the fleet that a demand needs: estimates.",
    "pull": "Fetch a model into a cache directory.",
    "backtest": "What the scaler would have done on past traffic.",
    "crd": "The CustomResourceDefinition.",
    "run": "The operator.",
}

EXIT_BAD_INPUT = 2


class BadInput(click.ClickException):
    """A sentence for stderr about what the user gave; exit status 2."""

    exit_code = EXIT_BAD_INPUT

    def show(self, file: object = None) -> None:
        """One line, no traceback."""
        print(f"inference-fleet: {self.message}", file=sys.stderr)  # noqa: T201


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"inference_fleet.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="inference-fleet")
def main() -> None:
    """Run LLM inference fleets on Kubernetes: locked plans, one Deployment per GPU type, a warm pool."""
