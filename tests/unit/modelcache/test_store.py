"""Errors of obstore in our words; the texts are what obstore 0.12 says."""

import pytest
from obstore.exceptions import GenericError, InvalidPathError, PermissionDeniedError, PreconditionError

from inference_fleet.modelcache.failure import Failure
from inference_fleet.modelcache.keys import S3Location
from inference_fleet.modelcache.store import Credentials, store_error

WHERE = S3Location("models", "m/7b", "https://minio:9000")
STATUS = "Error performing GET {url} in 1ms - Server returned non-2xx status code: {status}: {body}"


@pytest.mark.parametrize(
    ("error", "failure", "said"),
    [
        (PermissionDeniedError("x"), Failure.STORE_FORBIDDEN, "refuses to show s3://models/m/7b"),
        (PreconditionError("x"), Failure.MODEL_CHANGED, "replaced while it was read"),
        (InvalidPathError("x"), Failure.MODEL_KEY_REFUSED, "no safe file name"),
        (FileNotFoundError("x"), Failure.MODEL_MISSING, "no such object"),
        (GenericError("code: 111, ConnectionRefused"), Failure.STORE_UNREACHABLE, "connection refused"),
        (GenericError('"dns error"'), Failure.STORE_UNREACHABLE, "does not resolve"),
        (GenericError("invalid peer certificate: UnknownIssuer"), Failure.STORE_UNREACHABLE, "not trusted"),
        (GenericError("source: TimedOut"), Failure.STORE_UNREACHABLE, "no answer in time"),
        (GenericError("whatever"), Failure.STORE_UNREACHABLE, "the connection failed"),
    ],
)
def test_kinds(error: Exception, failure: Failure, said: str) -> None:
    answer = store_error(error, WHERE)

    assert answer.failure is failure
    assert said in answer.message
    assert "https://minio:9000" in answer.message or "s3://models/m/7b" in answer.message


@pytest.mark.parametrize(
    ("status", "code", "failure"),
    [
        ("403 Forbidden", "SignatureDoesNotMatch", Failure.STORE_FORBIDDEN),
        ("401 Unauthorized", "", Failure.STORE_FORBIDDEN),
        ("404 Not Found", "NoSuchBucket", Failure.MODEL_MISSING),
        ("503 Service Unavailable", "SlowDown", Failure.STORE_UNREACHABLE),
        ("400 Bad Request", "AuthorizationHeaderMalformed", Failure.STORE_UNREACHABLE),
    ],
)
def test_of_what_the_server_sent_only_status_and_code_are_passed_on(status: str, code: str, failure: Failure) -> None:
    body = f"<Error><Code>{code}</Code><Message>s3cr3t of an inner service</Message></Error>"
    answer = store_error(GenericError(STATUS.format(url="https://minio:9000/models", status=status, body=body)), WHERE)

    assert answer.failure is failure
    assert f"HTTP {status[:3]} {code}".strip() in answer.message
    assert "s3cr3t" not in answer.message


def test_credentials_are_not_shown() -> None:
    assert "s3cr3t" not in repr(Credentials("s3cr3t-id", "s3cr3t-key", "s3cr3t-token"))
