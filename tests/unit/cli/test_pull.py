"""The command around the pull: bad input, credentials, last words, progress in a log."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from inference_fleet.cli import pull as module
from inference_fleet.cli.pullprogress import LogLines
from inference_fleet.modelcache.failure import ModelError
from inference_fleet.modelcache.store import Credentials


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "leave", sys.exit)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(module.command, args)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "m.safetensors").write_text("weights")
    return folder


def test_the_result_as_json_and_as_a_line(source: Path, tmp_path: Path) -> None:
    dest = tmp_path / "m"
    status, out, err = run(str(source), str(dest), "--output", "json")
    answer = json.loads(out)

    assert (status, err) == (0, "")
    assert answer.pop("seconds") >= 0
    assert answer.pop("digest").startswith("sha256:")
    assert answer == {
        "path": str(dest),
        "bytes": 9,
        "files": 2,
        "cached": False,
        "cacheHit": False,
        "fetchedBytes": 9,
        "resumedBytes": 0,
        "retries": 0,
        "evictions": 0,
        "evictedBytes": 0,
    }
    status, out, err = run(str(source), str(dest))
    assert status == 0
    assert out.startswith(f"{dest}: 2 files, 9 bytes, already there, sha256:")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("hf://org/m", "dest"), "scheme 'hf'"),
        (("s3://models/m", "dest", "--digest", "md5:1"), "--digest 'md5:1' is not of the form sha256:<hex>"),
        (("s3://models/m", "m", "--size-limit", "lots"), "--size-limit 'lots' is not a quantity such as 64Gi"),
        (("s3://models/m", "m", "--low-watermark", "80"), "--low-watermark 80 needs a --high-watermark"),
        (("s3://models/m", "/"), "DEST '/' is a mount point"),
        (("s3://models/m", "/proc"), "DEST '/proc' is a mount point"),
        (("s3://models/m", "."), "holds the working or home directory"),
        (("s3://models/m", ".."), "holds the working or home directory"),
    ],
)
def test_bad_input_is_one_sentence(
    args: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    status, out, err = run(*args)

    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_the_home_directory_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "me"))
    assert run("s3://models/m", str(tmp_path / "home"))[0] == 2


def test_an_endpoint_with_a_password_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://me:s3cr3t@minio")
    status, _, err = run("s3://models/m", "dest")

    assert status == 2
    assert "AWS_ENDPOINT_URL" in err
    assert "s3cr3t" not in err


def test_a_ca_bundle_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/no/such/ca.crt")
    status, _, err = run("s3://models/m", str(tmp_path / "m"))

    assert status == 2
    assert "AWS_CA_BUNDLE '/no/such/ca.crt' cannot be read: No such file or directory." in err


def test_the_last_words_reach_the_termination_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "termination-log"
    monkeypatch.setattr(module, "TERMINATION_LOG", log)
    missing = tmp_path / "missing"
    status, _, err = run(str(missing), str(tmp_path / "m"))
    assert status == 1
    assert err == f"inference-fleet: pull: ModelMissing: Folder {str(missing)!r} does not exist.\n"
    assert not log.exists(), "only where Kubernetes has made it"

    log.touch()
    run(str(missing), str(tmp_path / "m"))
    assert log.read_text() == f"ModelMissing: Folder {str(missing)!r} does not exist."


def test_credentials_come_from_files_first(tmp_path: Path) -> None:
    environment = {"AWS_ACCESS_KEY_ID": "env-id", "AWS_SECRET_ACCESS_KEY": "env-key", "AWS_SESSION_TOKEN": "env-token"}
    assert module.read_credentials({}) is None
    assert module.read_credentials(environment) == Credentials("env-id", "env-key", "env-token")

    (tmp_path / "AWS_ACCESS_KEY_ID").write_text("file-id\n")
    (tmp_path / "AWS_SECRET_ACCESS_KEY").write_text("file-key\n")
    mounted = {**environment, module.CREDENTIALS_DIR: str(tmp_path)}
    assert module.read_credentials(mounted) == Credentials("file-id", "file-key", None)


def test_half_credentials_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="There is no AWS_SECRET_ACCESS_KEY in the environment"):
        module.read_credentials({"AWS_ACCESS_KEY_ID": "id"})
    with pytest.raises(ModelError, match="no AWS_ACCESS_KEY_ID and no AWS_SECRET_ACCESS_KEY in the directory"):
        module.read_credentials({module.CREDENTIALS_DIR: str(tmp_path)})


def test_a_log_gets_a_line_every_five_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = iter([100.0, 101.0, 105.0, 106.0, 110.0])
    progress = LogLines(20_000_000, clock=lambda: next(now))
    for _ in range(4):
        progress(2_500_000)

    assert capsys.readouterr().err.splitlines() == [
        "pull: 5,000,000 of 20,000,000 bytes (25 %), 1 MB/s, 15 s left",
        "pull: 10,000,000 of 20,000,000 bytes (50 %), 1 MB/s, 10 s left",
    ]
