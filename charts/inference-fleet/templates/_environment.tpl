{{- /* The settings, as operator/inference_fleet/settings.py reads them. Empty ones are left out. */}}
{{- define "inference-fleet.environment" -}}
- name: INFERENCE_FLEET_OPERATOR_IMAGE
  value: {{ include "inference-fleet.image" . | quote }}
- name: INFERENCE_FLEET_DEFAULT_ENGINE_IMAGE
  value: {{ include "inference-fleet.defaultEngineImage" . | quote }}
- name: INFERENCE_FLEET_CACHE_HOST_PATH
  value: {{ .Values.nodeCache.path | quote }}
- name: INFERENCE_FLEET_CACHE_CLAIM_SIZE
  value: {{ .Values.cacheClaimSize | quote }}
{{- with include "inference-fleet.pullSecretNames" . | fromJsonArray }}
- name: INFERENCE_FLEET_IMAGE_PULL_SECRETS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.watch.namespaces }}
- name: INFERENCE_FLEET_WATCH_NAMESPACES
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.secrets.namespaces }}
- name: INFERENCE_FLEET_SECRET_NAMESPACES
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.allowedStoreNetworks }}
- name: INFERENCE_FLEET_ALLOWED_STORE_NETWORKS
  value: {{ join "," . | quote }}
{{- end }}
{{- if .Values.gpuCatalog }}
- name: INFERENCE_FLEET_GPU_CATALOG
  value: /etc/inference-fleet/gpus.yaml
{{- end }}
- name: INFERENCE_FLEET_LEASE_NAMESPACE
  value: {{ .Release.Namespace | quote }}
- name: INFERENCE_FLEET_WORKERS
  value: {{ .Values.workers | quote }}
- name: INFERENCE_FLEET_RESYNC_SECONDS
  value: {{ .Values.resyncSeconds | quote }}
- name: INFERENCE_FLEET_LOG_LEVEL
  value: {{ .Values.log.level | quote }}
- name: INFERENCE_FLEET_LOG_FORMAT
  value: {{ .Values.log.format | quote }}
{{- end }}
