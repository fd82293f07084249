{{/* A volume that is a path of the machine: list of name, path and type. */}}
{{- define "kubus.hostPath" -}}
- name: {{ index . 0 }}
  hostPath:
    path: {{ index . 1 | trimSuffix "/" }}
    type: {{ index . 2 | quote }}
{{- end -}}

{{/* All volumes of the pod: exactly those that its containers mount. */}}
{{- define "kubus.volumes" -}}
{{- $home := include "kubus.home" . -}}
{{- $run := include "kubus.run" . -}}
{{- $services := (include "kubus.services" . | fromYaml).services -}}
{{- $used := list "config" "lib" "run" -}}
{{- if .Values.nats.enabled -}}{{- $used = append $used "nats-config" -}}{{- end -}}
{{- if include "kubus.bootstraps" . -}}{{- $used = append $used "credentials" -}}{{- end -}}
{{- if .Values.runtime.enabled -}}{{- range $mount := (.Files.Get "files/containers.yaml" | fromYaml).runtime.mounts -}}{{- $used = append $used $mount.of -}}{{- end -}}{{- end -}}
{{- range $service := $services -}}
{{- range $mount := $service.mounts -}}
{{- with $mount.of -}}{{- $used = append $used . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $volume := (.Files.Get "files/containers.yaml" | fromYaml).volumes }}
{{- if and (has $name $used) (not (has $name (include "kubus.optionalVolumes" $ | fromYamlArray))) }}
{{ include "kubus.hostPath" (list $name (include "kubus.path" (list $volume.path $)) (default "DirectoryOrCreate" $volume.type)) }}
{{- end }}
{{- end }}
{{- range $container := (include "kubus.containers" . | fromYaml).containers }}
{{ include "kubus.hostPath" (list (printf "identity-%s" $container.name) (printf "%s/containers/identities/%s" $home $container.name) "DirectoryOrCreate") }}
{{- if ne $container.name "launcher" }}
{{ include "kubus.hostPath" (list (printf "control-%s" $container.name) (printf "%s/control/%s" $run $container.name) "DirectoryOrCreate") }}
{{- end }}
{{- range $slot := $container.slots }}
- name: tmp-{{ $container.name }}{{ if $slot }}-{{ $slot }}{{ end }}
  emptyDir: { medium: Memory, sizeLimit: 16Mi }
{{- end }}
{{- end }}
{{- range $service := $services }}
{{ include "kubus.hostPath" (list (printf "state-%s" $service.name) (printf "%s/state/%s" $home $service.name) "DirectoryOrCreate") }}
{{- if $service.serves }}
{{ include "kubus.hostPath" (list (printf "sockets-%s" $service.name) (printf "%s/sockets/%s" $run $service.name) "DirectoryOrCreate") }}
{{- end }}
{{- end }}
{{ include "kubus.hostPath" (list "runtime" (include "kubus.runtimeFolder" .) (ternary "DirectoryOrCreate" "Directory" .Values.runtime.enabled)) }}
{{- range $index, $path := (index .Values.services "volume-manager").hostPaths }}
{{- if (index $.Values.services "volume-manager").enabled }}
{{ include "kubus.hostPath" (list (printf "host-path-%d" $index) $path "") }}
{{- end }}
{{- end }}
- name: tmp-install
  emptyDir: { medium: Memory, sizeLimit: 16Mi }
- name: overlay
  configMap:
    name: {{ include "kubus.fullname" . }}
    items: [{ key: node.yaml, path: node.yaml }]
{{- if .Values.nats.enabled }}
- name: nats-data
  emptyDir: { sizeLimit: 4Gi }
{{- end }}
{{- if .Values.runtime.enabled }}
- name: tmp-import-images
  emptyDir: { medium: Memory, sizeLimit: 16Mi }
{{- end }}
{{- if and (not .Values.nats.enabled) .Values.nats.external.caSecret }}
- name: nats-ca
  secret: { secretName: {{ .Values.nats.external.caSecret }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- if and (not .Values.nats.enabled) .Values.nats.external.identitiesSecret }}
- name: nats-identities
  secret: { secretName: {{ .Values.nats.external.identitiesSecret }}, defaultMode: 0400 }
{{- end }}
{{- if and (has "manifests" $used) .Values.manifests.hostPath }}
{{ include "kubus.hostPath" (list "manifests" .Values.manifests.hostPath "DirectoryOrCreate") }}
{{- else if and (has "manifests" $used) .Values.manifests.configMap }}
- name: manifests
  configMap: { name: {{ .Values.manifests.configMap }} }
{{- end }}
{{- if and (include "kubus.apiPort" .) .Values.nodeApi.clientCaConfigMap }}
- name: client-ca
  configMap: { name: {{ .Values.nodeApi.clientCaConfigMap }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- if has .Values.cluster.mode (list "kubeconfig" "bootstrap") }}
- name: cluster
  secret: { secretName: {{ .Values.cluster.kubeconfigSecret }}, defaultMode: 0444 }
{{- else if eq .Values.cluster.mode "serviceAccount" }}
- name: cluster
  {{- include "kubus.clusterAccess" (include "kubus.fullname" .) | nindent 2 }}
{{- end }}
{{- end -}}
