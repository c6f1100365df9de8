import pytest

from inference_fleet.resources.quantity import canonical_cpu, from_bytes, to_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [("64Gi", 64 * 2**30), ("1.5Gi", 3 * 2**29), ("2048Mi", 2 * 2**30), ("2G", 2 * 10**9), ("123", 123), ("1500m", 2)],
)
def test_quantities_are_read_exactly(text: str, count: int) -> None:
    assert to_bytes(text) == count


@pytest.mark.parametrize(
    ("count", "text"), [(2 * 2**30, "2Gi"), (3 * 2**29, "1536Mi"), (2**41, "2Ti"), (1024, "1Ki"), (1000, "1000")]
)
def test_bytes_are_written_as_the_api_server_writes_them(count: int, text: str) -> None:
    assert from_bytes(count) == text


@pytest.mark.parametrize(("given", "written"), [("1000m", "1"), ("0.5", "500m"), ("8", "8"), ("1500m", "1500m")])
def test_cpu_is_written_as_the_api_server_writes_it(given: str, written: str) -> None:
    assert canonical_cpu(given) == written


@pytest.mark.parametrize("text", ["", "Gi", "-1Gi", "1e3", "64 Gi", "64GiB"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        to_bytes(text)
