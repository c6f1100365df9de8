"""Condition types and their reasons: stable words that dashboards, alerts and Argo CD health scripts match."""

from enum import StrEnum


class ConditionType(StrEnum):
    """What a condition is about."""

    READY = "Ready"
    PLANNED = "Planned"
    MODEL_RESOLVED = "ModelResolved"
    WARM_POOL_FULL = "WarmPoolFull"
    SCALING_ACTIVE = "ScalingActive"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


class Reason(StrEnum):
    """Why a condition has its status. One word, never renamed."""

    # all is well
    READY = "Ready"
    PLANNED = "Planned"
    RESOLVED = "Resolved"
    FULL = "Full"
    DISABLED = "Disabled"
    FIXED_AT_MINIMUM = "FixedAtMinimum"
    SETTLED = "Settled"
    # on the way
    RECONCILING = "Reconciling"
    RESOLVING = "ResolvingModel"
    LOADING = "Loading"
    ROLLING_OUT = "RollingOut"
    REFILLING = "Refilling"
    # the spec
    INVALID_SPEC = "InvalidSpec"
    NAME_CONFLICT = "NameConflict"
    # the plan
    INVALID_PARALLELISM = "InvalidParallelism"
    MODEL_TOO_LARGE = "ModelTooLarge"
    CONTEXT_TOO_LONG = "ContextTooLong"
    KV_CACHE_TOO_SMALL = "KVCacheTooSmall"
    UNKNOWN_GPU = "UnknownGPU"
    UNSUPPORTED_DTYPE = "UnsupportedDtype"
    LOCKED_FLAG = "LockedFlag"
    REMOVED_FLAG = "RemovedFlag"
    UNKNOWN_ENGINE_VERSION = "UnknownEngineVersion"
    MODEL_NOT_CHECKED = "ModelNotChecked"
    UNSUPPORTED_ARCHITECTURE = "UnsupportedArchitecture"
    # the model store
    MODEL_MISSING = "ModelMissing"
    MODEL_CONFIG_INVALID = "ModelConfigInvalid"
    MODEL_KEY_REFUSED = "ModelKeyRefused"
    STORE_FORBIDDEN = "StoreForbidden"
    STORE_UNREACHABLE = "StoreUnreachable"
    STORE_ADDRESS_REFUSED = "StoreAddressRefused"
    CREDENTIALS_MISSING = "CredentialsMissing"
    # the cluster
    UNSCHEDULABLE = "Unschedulable"
    QUOTA_EXCEEDED = "QuotaExceeded"
    POLICY_REFUSED = "PolicyRefused"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    CRASH_LOOP = "CrashLoop"
    MODEL_PULL_FAILED = "ModelPullFailed"
    APPLY_FAILED = "ApplyFailed"
