"""A Git repository that Argo CD syncs from, served by `git daemon` on loopback."""

import shutil
import subprocess
from pathlib import Path

from e2e.cluster.errors import ClusterError

_AS_NOBODY = {
    "GIT_AUTHOR_NAME": "test",
    "GIT_AUTHOR_EMAIL": "test@example.com",
    "GIT_COMMITTER_NAME": "test",
    "GIT_COMMITTER_EMAIL": "test@example.com",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


class Repository:
    """One repository with one branch, main."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        folder.mkdir(parents=True)
        self._git("init", "--quiet", "--initial-branch=main")

    def commit(self, files: dict[str, str]) -> str:
        """Make `files` (path: text) the whole content of the branch; give the revision."""
        for entry in self.folder.iterdir():
            if entry.name != ".git":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", "--message", "change")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *arguments: str) -> str:
        path = shutil.which("git")
        if path is None:
            raise ClusterError("git is not installed: Argo CD's tests serve it a repository")
        done = subprocess.run(
            [path, *arguments],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", **_AS_NOBODY},
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise ClusterError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout
