{{- /* What the schema cannot say in a sentence. */}}
{{- define "inference-fleet.checks" -}}
{{- if .Values.watch.namespaces }}
{{- range .Values.secrets.namespaces }}
{{- if not (has . $.Values.watch.namespaces) }}
{{- fail (printf "secrets.namespaces has %q, which is not in watch.namespaces: the operator would be allowed to read Secrets where it serves nobody." .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
