import pytest

from inference_fleet.catalog.gpus import GIB, GpuCatalog

CATALOG = GpuCatalog.builtin()


@pytest.mark.parametrize(
    ("label", "product"),
    [
        ("NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-80GB-HBM3"),
        ("nvidia-h100-80gb-hbm3", "NVIDIA-H100-80GB-HBM3"),
        ("NVIDIA-H200-NVL", "NVIDIA-H200-NVL"),
        ("NVIDIA-H200-144G", "NVIDIA-H200"),
        ("NVIDIA-A10G", "NVIDIA-A10G"),
        ("AMD_Instinct_MI300X_OAM", "AMD_Instinct_MI300X_OAM"),
    ],
)
def test_a_node_label_finds_its_type(label: str, product: str) -> None:
    found = CATALOG.find(label)
    assert found is not None
    assert found.product == product


@pytest.mark.parametrize(
    "label",
    [
        "Tesla-T4-SHARED",
        "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb",
        "NVIDIA-A10-24Q",
        "NVIDIA-H100-SXM5-80GB",
        "NVIDIA-A100-PCIE-80GB",
        "",
    ],
)
def test_slices_and_unknown_labels_are_never_a_whole_gpu(label: str) -> None:
    assert CATALOG.find(label) is None


def test_every_built_in_type_finds_itself() -> None:
    assert len(CATALOG.types) == 35
    for gpu in CATALOG.types:
        assert CATALOG.find(gpu.product) == gpu


def test_vendors_have_their_own_label_and_resource() -> None:
    amd = CATALOG.find("AMD_Instinct_MI300X_OAM")
    nvidia = CATALOG.find("NVIDIA-L4")
    assert amd is not None
    assert nvidia is not None
    assert (amd.label_key, amd.resource_name) == ("amd.com/gpu.product-name", "amd.com/gpu")
    assert (nvidia.label_key, nvidia.resource_name) == ("nvidia.com/gpu.product", "nvidia.com/gpu")


@pytest.mark.parametrize(
    ("label", "tokens", "seqs"),
    [
        ("NVIDIA-B200", 16384, 1024),
        ("NVIDIA-H100-80GB-HBM3", 8192, 1024),
        ("NVIDIA-H200", 8192, 1024),
        ("NVIDIA-A100-SXM4-80GB", 2048, 256),
        ("NVIDIA-L4", 2048, 256),
    ],
)
def test_the_engine_defaults_follow_memory_but_not_for_the_a100(label: str, tokens: int, seqs: int) -> None:
    gpu = CATALOG.find(label)
    assert gpu is not None
    assert (gpu.batch_defaults.max_num_batched_tokens, gpu.batch_defaults.max_num_seqs) == (tokens, seqs)


def test_memory_is_what_torch_sees() -> None:
    gpu = CATALOG.find("NVIDIA-H100-80GB-HBM3")
    assert gpu is not None
    assert gpu.memory_bytes == int(79.18 * GIB)


def test_the_nearest_names_share_words_first() -> None:
    assert CATALOG.nearest("NVIDIA-H100-SXM5-80GB")[0] == "NVIDIA-H100-80GB-HBM3"


ENTRY = {
    "name": "X",
    "vendor": "nvidia",
    "product": "NVIDIA-X",
    "memoryGiB": 10,
    "computeCapability": "9.0",
    "bf16": True,
    "fp8": True,
    "gpusPerNode": 4,
}


def test_entries_extend_and_replace() -> None:
    added = CATALOG.extended([ENTRY])
    assert added.find("NVIDIA-X") is not None
    replaced = CATALOG.extended([{**ENTRY, "product": "NVIDIA-L4"}]).find("NVIDIA-L4")
    assert replaced is not None
    assert replaced.gpus_per_node == 4


def test_a_bad_entry_is_named() -> None:
    with pytest.raises(ValueError, match="GPU type NVIDIA-X: gpusPerNode"):
        CATALOG.extended([{**ENTRY, "gpusPerNode": 0}])
