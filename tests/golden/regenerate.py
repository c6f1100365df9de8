"""Write the golden outputs anew: `.venv/bin/python -m tests.golden.regenerate` from the top of the repository."""

from tests.golden.fleets import FOLDER, INPUTS, output_of, rendered


def main() -> None:
    """One output per input, and no others."""
    for stale in (FOLDER / "output").glob("*.yaml"):
        stale.unlink()
    for path in INPUTS:
        output_of(path).write_text(rendered(path), encoding="utf-8")


if __name__ == "__main__":
    main()
