{{- /* A Service's name begins with a letter and has no dots, unlike a release's. */}}
{{- define "connect.name" -}}
{{- $release := .Release.Name | replace "." "-" }}
{{- if regexMatch "^[0-9]" $release }}{{ $release = printf "r%s" $release }}{{ end }}
{{- if contains .Chart.Name $release }}{{ $release | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" $release .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* Where probes, the Service and the pod that applies connectors find REST: the first of the worker's listeners. */}}
{{- define "connect.listener" -}}
{{- $given := get .Values.worker "listeners" | default "http://0.0.0.0:8083" | splitList "," | first | trim | lower }}
{{- if not (regexMatch "^https?://[^ /]*:[0-9]+$" $given) }}
{{- fail (printf "worker.listeners begins with %s: the chart's probes need http://HOST:PORT or https://HOST:PORT there." $given) }}
{{- end }}
{{- $auth := get .Values.worker "listeners.https.ssl.client.auth" | default (get .Values.worker "ssl.client.auth") }}
{{- if and (hasPrefix "https:" $given) (eq ($auth | default "" | lower) "required") }}
{{- fail "worker asks each client for a certificate, and the probes of Kubernetes have none: set listeners.https.ssl.client.auth=requested, and give roles to certificates." }}
{{- end }}
{{- $given }}
{{- end }}

{{- define "connect.scheme" -}}
{{ include "connect.listener" . | splitList ":" | first }}
{{- end }}

{{- define "connect.port" -}}
{{ include "connect.listener" . | splitList ":" | last }}
{{- end }}

{{- /* The texts of a configuration. Helm reads numbers as floats: whole ones would be written as 1e+06 from a million on,
and have lost digits beyond 2^53. */}}
{{- define "connect.texts" -}}
{{- $texts := dict }}
{{- range $key, $value := .config }}
{{- $isWhole := and (kindIs "float64" $value) (eq (floor $value) $value) }}
{{- if and $isWhole (or (gt $value 9007199254740991.0) (lt $value -9007199254740991.0)) }}
{{- fail (printf "%s.%s is a number with more digits than Helm keeps: write it in quotes." $.place $key) }}
{{- end }}
{{- $_ := set $texts $key (ternary (printf "%.0f" ($value | float64)) (toString $value) $isWhole) }}
{{- end }}
{{- $texts | toJson }}
{{- end }}

{{- define "connect.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
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
{{- if and .Values.connectors .Values.apply.configMap }}
{{- fail (printf "connectors and apply.configMap=%s are both given: one of them says which connectors there are." .Values.apply.configMap) }}
{{- end }}
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
{{- $places := dict "worker" .Values.worker "connectors" .Values.connectors "cassandraAgent.config" .Values.cassandraAgent.config }}
{{- range $place, $value := $places }}
{{- $text := $value | toJson }}
{{- $own := dict "HOSTNAME" "" }}
{{- if ne $place "cassandraAgent.config" }}{{ $own = merge $own (dict "POD_IP" "") ($.Values.env | default dict) }}{{ end }}
{{- $variables := list }}
{{- range regexFindAll "[$][{]env:[^}]*[}]" $text -1 }}
{{- if not (hasKey $own (. | trimPrefix "${env:" | trimSuffix "}")) }}{{ $variables = append $variables . }}{{ end }}
{{- end }}
{{- $files := regexFindAll "[$][{](file|directory):/etc/connect/secret[^}]*[}]|/etc/connect/secret/[^\\\\\", ]+" $text -1 }}
{{- if not $.Values.secret.name }}
{{- range concat $files $variables }}
{{- fail (printf "%s names %s, and secret.name is empty: make a Secret (kubectl create secret generic NAME --from-file=FILE) and set secret.name=NAME, with secret.asEnvironment=true for ${env:}." $place .) }}
{{- end }}
{{- else if and $variables (not $.Values.secret.asEnvironment) }}
{{- fail (printf "%s is named, and the Secret %s gives no variables: set secret.asEnvironment=true." (first $variables) $.Values.secret.name) }}
{{- end }}
{{- end }}
{{- end }}
