{{- /*
Exactly what the operator calls. It patches with server-side apply, so it needs no `update`; it watches children by
label; Secrets are read one by one by name and never listed.
*/}}
{{- define "inference-fleet.rules" -}}
- apiGroups: [inferencefleet.io]
  resources: [inferenceservices]
  verbs: [get, list, watch]
- apiGroups: [inferencefleet.io]
  resources: [inferenceservices/status]
  verbs: [get, patch]
# Children carry blockOwnerDeletion; the admission plugin OwnerReferencesPermissionEnforcement asks for this.
- apiGroups: [inferencefleet.io]
  resources: [inferenceservices/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
# Roles are labels of pods. Pods are made and removed by their ReplicaSets.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, patch]
# CA certificates of model stores.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get]
- apiGroups: ["", events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- if not .Values.secrets.namespaces }}
{{ include "inference-fleet.secretRule" . }}
{{- end }}
{{- end }}

{{- define "inference-fleet.secretRule" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}

{{- /* Which of the replicas writes: one Lease in the operator's own namespace. A create cannot be limited to a name. */}}
{{- define "inference-fleet.leaseRule" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [inference-fleet]
  verbs: [get, update]
{{- end }}

{{- /* A role and its binding. Arguments: root, kind (Role or ClusterRole), namespace, name, rules. */}}
{{- define "inference-fleet.grant" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "inference-fleet.labels" .root | nindent 4 }}
rules:
{{ .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "inference-fleet.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "inference-fleet.serviceAccount" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}
