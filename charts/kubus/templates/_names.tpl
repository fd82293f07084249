{{- define "kubus.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kubus.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "kubus.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "kubus.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of the node's folders: the same on every machine, since paths of volumes cannot hold the machine's name. */}}
{{- define "kubus.folder" -}}
{{- default (include "kubus.fullname" . | trunc 32 | trimSuffix "-") .Values.node.folder -}}
{{- end -}}

{{- define "kubus.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "kubus.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The selector labels; they must never change, since a DaemonSet's selector is immutable. */}}
{{- define "kubus.selector" -}}
app.kubernetes.io/name: {{ include "kubus.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kubus.labels" -}}
{{ include "kubus.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* An image: its own values, then the common ones; the default tag is the version. */}}
{{- define "kubus.image" -}}
{{- $own := .own -}}
{{- if not (or $own.repository $own.tag $own.digest) -}}{{- $own = .common -}}{{- end -}}
{{- $repository := default .common.repository $own.repository -}}
{{- if $own.digest -}}
{{- printf "%s@%s" $repository $own.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .version $own.tag) -}}
{{- end -}}
{{- end -}}

{{- define "kubus.home" -}}
/var/lib/kubus/{{ include "kubus.folder" . }}
{{- end -}}

{{- define "kubus.run" -}}
/run/kubus/{{ include "kubus.folder" . }}
{{- end -}}

{{/* A path of files/containers.yaml on the machine: list of it and the root context. */}}
{{- define "kubus.path" -}}
{{- $root := index . 1 -}}
{{- index . 0 | replace "H/" (printf "%s/" (include "kubus.home" $root)) | replace "S/" (printf "%s/" (include "kubus.run" $root)) -}}
{{- end -}}
