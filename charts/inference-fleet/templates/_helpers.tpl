{{- define "inference-fleet.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 45 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 45 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "inference-fleet.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "inference-fleet.nodeCacheSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: node-cache
{{- end }}

{{- /* managed-by is never `inference-fleet`: that is what the operator selects its own children by. */}}
{{- define "inference-fleet.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: inference-fleet
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "inference-fleet.serviceAccount" -}}
{{- default (ternary (include "inference-fleet.name" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "inference-fleet.image" -}}
{{- $image := .Values.image }}
{{- with default $image.registry .Values.global.imageRegistry }}{{ trimSuffix "/" . }}/{{ end }}
{{- $image.repository }}:{{ default .Chart.AppVersion $image.tag }}
{{- with $image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "inference-fleet.defaultEngineImage" -}}
{{- with .Values.global.imageRegistry }}{{ trimSuffix "/" . }}/{{ end }}{{ .Values.defaultEngineImage }}
{{- end }}

{{- /* The names of all pull secrets, as a JSON list. */}}
{{- define "inference-fleet.pullSecretNames" -}}
{{- $names := list }}
{{- range concat .Values.global.imagePullSecrets .Values.imagePullSecrets }}
{{- if kindIs "string" . }}{{ $names = append $names . }}{{ else }}{{ $names = append $names .name }}{{ end }}
{{- end }}
{{- uniq $names | toJson }}
{{- end }}

{{- define "inference-fleet.pullSecrets" -}}
{{- with include "inference-fleet.pullSecretNames" . | fromJsonArray -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "inference-fleet.restrictedContainer" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
