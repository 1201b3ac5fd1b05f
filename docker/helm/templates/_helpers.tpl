{{- define "connect.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "connect.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "connect.labels" -}}
{{ include "connect.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "connect.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "connect.isApplied" -}}
{{- if or .Values.connectors .Values.apply.configMap }}yes{{ end }}
{{- end }}

{{- /* Neither the worker nor the pod that applies connectors needs any right, or writes anywhere but to /tmp. */}}
{{- define "connect.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
fsGroup: 65534
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "connect.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* A pod without the Secret that its files name would start again and again: say it before anything is installed. */}}
{{- define "connect.checkSecret" -}}
{{- if not .Values.secret.name }}
{{- $places := dict "worker" .Values.worker "connectors" .Values.connectors "cassandraAgent.config" .Values.cassandraAgent.config }}
{{- range $place, $value := $places }}
{{- $named := regexFind "[$][{](file:/etc/connect/secret/|env:)[^}]*[}]" ($value | toJson) }}
{{- if $named }}
{{- fail (printf "%s names %s, and secret.name is empty: make a Secret (kubectl create secret generic NAME --from-file=FILE) and set secret.name=NAME, with secret.asEnvironment=true for ${env:}." $place $named) }}
{{- end }}
{{- end }}
{{- else if not .Values.secret.asEnvironment }}
{{- $named := regexFind "[$][{]env:[^}]*[}]" (list .Values.worker .Values.connectors .Values.cassandraAgent.config | toJson) }}
{{- if $named }}
{{- fail (printf "%s is named, and the Secret %s gives no variables: set secret.asEnvironment=true." $named .Values.secret.name) }}
{{- end }}
{{- end }}
{{- end }}
