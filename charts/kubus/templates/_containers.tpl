{{/* The environment that names the node and its folders. */}}
{{- define "kubus.nodeEnv" -}}
- name: KUBUS_MACHINE
  valueFrom: { fieldRef: { fieldPath: spec.nodeName } }
- name: KUBUS_NODE
  value: $(KUBUS_MACHINE){{ .Values.node.nameSuffix }}
- name: KUBUS_FOLDER
  value: {{ include "kubus.folder" . }}
{{- end -}}

{{/* A volumeMount of a path of the machine, at the same path unless another one is given: dict of mount and root. */}}
{{- define "kubus.mount" -}}
{{- $volume := index (.root.Files.Get "files/containers.yaml" | fromYaml).volumes .mount.of | default dict -}}
- name: {{ .mount.of }}
  mountPath: {{ default (include "kubus.path" (list (default "" $volume.path) .root)) .mount.path | trimSuffix "/" }}
{{- if .mount.readOnly }}
  readOnly: true
{{- end }}
{{- with .mount.propagation }}
  mountPropagation: {{ . }}
{{- end }}
{{- end -}}

{{/* The securityContext of a container: dict of user, capabilities, privileged, writable. */}}
{{- define "kubus.securityContext" -}}
{{- if .privileged -}}
privileged: true
readOnlyRootFilesystem: {{ not .writable }}
runAsUser: 0
{{- else -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
{{- if eq .user "root" }}
runAsUser: 0
{{- else }}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
{{- end }}
capabilities:
  drop: [ALL]
{{- with .capabilities }}
  add: {{ toJson . }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- end -}}

{{/* The containers of the instances of a service, or the one that several services share: dict of container, one of kubus.containers, and root. */}}
{{- define "kubus.serviceContainers" -}}
{{- range $slot := .container.slots }}
{{ include "kubus.serviceContainer" (dict "service" $.container "root" $.root "slot" (int $slot)) }}
{{- end }}
{{- end -}}

{{- define "kubus.serviceContainer" -}}
{{- $root := .root -}}
{{- $service := .service -}}
{{- $values := $service.values -}}
{{- $defaults := $root.Values.serviceDefaults -}}
{{- $name := $service.name -}}
{{- $members := list -}}
{{- range $service.members -}}{{- $members = append $members .name -}}{{- end -}}
{{- $container := $name -}}
{{- if .slot -}}{{- $container = printf "%s-%d" $name .slot -}}{{- end -}}
{{- $arguments := concat $defaults.extraArgs (default list $values.extraArgs) -}}
- name: {{ $container }}
  image: {{ include "kubus.image" (dict "own" (default dict $values.image) "common" $root.Values.image "version" $root.Chart.AppVersion) | quote }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  args: [service, {{ $container }}]
  env:
    {{- include "kubus.nodeEnv" $root | nindent 4 }}
    {{- with $values.logLevel }}
    - name: KUBUS_LOG_LEVEL
      value: {{ . }}
    {{- end }}
    {{- with $arguments }}
    - name: NODE_OPTIONS
      value: {{ join " " . | quote }}
    {{- end }}
    {{- if and (not $root.Values.nats.enabled) $root.Values.nats.external.caSecret }}
    - name: NODE_EXTRA_CA_CERTS
      value: /etc/kubus/nats-ca/ca.crt
    {{- end }}
    {{- with concat $defaults.extraEnv (default list $values.extraEnv) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if and (has "node-api" $members) (include "kubus.apiPort" $root) }}
  ports:
    - name: api
      containerPort: {{ include "kubus.apiPort" $root }}
  {{- end }}
  {{- if eq $name "launcher" }}
  {{- range $probe := list "startup" "readiness" "liveness" }}
  {{ $probe }}Probe:
    exec: { command: [kubus, service, launcher, --check{{ if eq $probe "liveness" }}, live{{ end }}] }
    periodSeconds: {{ ternary 1 30 (eq $probe "startup") }}
    timeoutSeconds: 10
    failureThreshold: {{ ternary 120 6 (eq $probe "startup") }}
  {{- end }}
  {{- else }}
  {{- $port := add (int $root.Values.node.httpPort) (int $service.index) (mul 20 .slot) }}
  # Looks every second until it is ready for the first time: an upgrade waits for the last container.
  startupProbe:
    httpGet: { host: 127.0.0.1, port: {{ $port }}, path: /readyz }
    periodSeconds: 1
    timeoutSeconds: 5
    failureThreshold: 120
  readinessProbe:
    httpGet: { host: 127.0.0.1, port: {{ $port }}, path: /readyz }
    periodSeconds: 5
    timeoutSeconds: 5
  livenessProbe:
    httpGet: { host: 127.0.0.1, port: {{ $port }}, path: /healthz }
    periodSeconds: 10
    timeoutSeconds: 10
    failureThreshold: 6
  {{- end }}
  securityContext:
    {{- include "kubus.securityContext" $service | nindent 4 }}
  resources:
    {{- toYaml (default $defaults.resources $values.resources) | nindent 4 }}
  volumeMounts:
    - name: config
      mountPath: /etc/kubus/config
      readOnly: true
    - name: identity-{{ $name }}
      mountPath: /etc/kubus/identities
      readOnly: true
    {{- range $member := $members }}
    - name: state-{{ $member }}
      mountPath: {{ include "kubus.home" $root }}/state/{{ $member }}
    {{- end }}
    {{- if ne $name "launcher" }}
    - name: control-{{ $name }}
      mountPath: {{ include "kubus.run" $root }}/control/{{ $name }}
    {{- end }}
    {{- range $member := $service.members }}
    {{- if $member.serves }}
    - name: sockets-{{ $member.name }}
      mountPath: {{ include "kubus.run" $root }}/sockets/{{ $member.name }}
    {{- end }}
    {{- end }}
    - name: tmp-{{ $container }}
      mountPath: /tmp
    {{- if and $service.credentials (include "kubus.bootstraps" $root) }}
    - name: credentials
      mountPath: {{ include "kubus.home" $root }}/credentials
      {{- if not (has "node-agent" $members) }}
      readOnly: true
      {{- end }}
    {{- end }}
    {{- /* With bootstrap, only node-agent gets the bootstrap kubeconfig. */}}
    {{- if and $service.credentials (include "kubus.member" $root) (or (has "node-agent" $members) (not (include "kubus.bootstraps" $root))) }}
    - name: cluster
      mountPath: /etc/kubus/cluster
      readOnly: true
    {{- end }}
    {{- if and (not $root.Values.nats.enabled) $root.Values.nats.external.caSecret }}
    - name: nats-ca
      mountPath: /etc/kubus/nats-ca
      readOnly: true
    {{- end }}
    {{- range $member := $service.members }}
    {{- range $index, $path := $member.values.hostPaths }}
    - name: host-path-{{ $index }}
      mountPath: {{ $path }}
      readOnly: true
    {{- end }}
    {{- end }}
    {{- range $mount := $service.mounts }}
    {{- if $mount.socketsOf }}
    {{- if include "kubus.member" $root }}
    - name: sockets-{{ $mount.socketsOf }}
      mountPath: {{ include "kubus.run" $root }}/sockets/{{ $mount.socketsOf }}
      readOnly: true
    {{- end }}
    {{- else if eq $mount.of "runtime" }}
    - name: runtime
      mountPath: {{ include "kubus.runtimeFolder" $root }}
    {{- else if has $mount.of (include "kubus.optionalVolumes" $root | fromYamlArray) }}
    {{- else }}
    {{- include "kubus.mount" (dict "mount" $mount "root" $root) | nindent 4 }}
    {{- end }}
    {{- end }}
{{- end -}}

{{/* The folder of the runtime's socket. */}}
{{- define "kubus.runtimeFolder" -}}
{{- if .Values.runtime.enabled -}}
{{ include "kubus.run" . }}/containerd
{{- else -}}
{{ dir .Values.runtime.socket }}
{{- end -}}
{{- end -}}

{{/* Names of volumes that do not exist with these values, as a YAML list. */}}
{{- define "kubus.optionalVolumes" -}}
{{- $missing := list -}}
{{- if not (or .Values.manifests.hostPath .Values.manifests.configMap) -}}{{- $missing = append $missing "manifests" -}}{{- end -}}
{{- if not (and (include "kubus.apiPort" .) .Values.nodeApi.clientCaConfigMap) -}}{{- $missing = append $missing "client-ca" -}}{{- end -}}
{{- if not .Values.runtime.enabled -}}{{- $missing = append $missing "containerd-files" -}}{{- end -}}
{{- toJson $missing -}}
{{- end -}}
