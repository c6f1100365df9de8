{{- /* What the schema cannot say in a sentence. */}}
{{- define "inference-fleet.checks" -}}
{{- if ne (int .Values.replicas) 1 }}
{{- fail (printf "replicas is %v: it must be 1. The operator has no leader election yet, so two of them would write against each other; the engine pods keep serving while it is down." .Values.replicas) }}
{{- end }}
{{- if .Values.watch.namespaces }}
{{- range .Values.secrets.namespaces }}
{{- if not (has . $.Values.watch.namespaces) }}
{{- fail (printf "secrets.namespaces has %q, which is not in watch.namespaces: the operator would be allowed to read Secrets where it serves nobody." .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
