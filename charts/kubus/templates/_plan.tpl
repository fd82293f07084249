{{/* Whether the node is a member of a cluster: "true" or nothing. */}}
{{- define "kubus.member" -}}
{{- if ne .Values.cluster.mode "none" -}}true{{- end -}}
{{- end -}}

{{/* Whether the node requests its client certificate itself: "true" or nothing. */}}
{{- define "kubus.bootstraps" -}}
{{- if eq .Values.cluster.mode "bootstrap" -}}true{{- end -}}
{{- end -}}

{{/* The port of the node's API, or nothing. */}}
{{- define "kubus.apiPort" -}}
{{- if and (include "kubus.member" .) (index .Values.services "node-api").enabled (gt (int .Values.nodeApi.port) 0) -}}
{{- int .Values.nodeApi.port -}}
{{- end -}}
{{- end -}}

{{/* The services that this node has, as YAML: those of files/containers.yaml with the number of their port, and their values; the launcher first. */}}
{{- define "kubus.services" -}}
{{- $all := (.Files.Get "files/containers.yaml" | fromYaml).services -}}
{{- $present := list -}}
{{- range $index, $service := $all -}}
{{- $values := index $.Values.services $service.name -}}
{{- if and $values.enabled (or (not $service.member) (include "kubus.member" $)) -}}
{{- $one := merge (dict "index" $index "values" $values) $service -}}
{{- /* A kubelet starts containers one after the other, and all others wait for the launcher's streams. */}}
{{- $present = ternary (prepend $present $one) (append $present $one) (eq $service.name "launcher") -}}
{{- end -}}
{{- end -}}
{{- dict "services" $present | toYaml -}}
{{- end -}}

{{/* The services that each shared container has by `placement`, by its name, as YAML; those that the node lacks included. */}}
{{- define "kubus.placed" -}}
{{- $placed := dict -}}
{{- if eq .Values.placement "hosted" -}}
{{- $names := list -}}
{{- range $service := (.Files.Get "files/containers.yaml" | fromYaml).services -}}
{{- if not $service.alone -}}{{- $names = append $names $service.name -}}{{- end -}}
{{- end -}}
{{- $_ := set $placed "services" $names -}}
{{- else if eq .Values.placement "groups" -}}
{{- if not .Values.groups -}}{{- fail "groups: placement is groups, and there is none" -}}{{- end -}}
{{- $seen := list -}}
{{- range $group, $names := .Values.groups -}}
{{- range $name := $names -}}
{{- if has $name $seen -}}{{- fail (printf "groups.%s: %s is in two groups" $group $name) -}}{{- end -}}
{{- $seen = append $seen $name -}}
{{- end -}}
{{- $_ := set $placed (printf "services-%s" $group) $names -}}
{{- end -}}
{{- end -}}
{{- toYaml $placed -}}
{{- end -}}

{{/* The containers of the services, as YAML: name, members (those of kubus.services), the slots of their instances, and what the members have together. */}}
{{- define "kubus.containers" -}}
{{- $root := . -}}
{{- $services := (include "kubus.services" . | fromYaml).services -}}
{{- $placed := include "kubus.placed" . | fromYaml -}}
{{- $shared := dict -}}
{{- $containerOf := dict -}}
{{- range $index, $name := keys $placed | sortAlpha -}}
{{- $members := list -}}
{{- range $one := index $placed $name -}}
{{- if not (index $root.Values.services $one).enabled -}}
{{- fail (printf "services.%s.enabled: a service that shares a container cannot be disabled; take it out of its group (placement)" $one) -}}
{{- end -}}
{{- range $service := $services -}}{{- if eq $service.name $one -}}{{- $members = append $members $service -}}{{- end -}}{{- end -}}
{{- end -}}
{{- /* A service that is left alone in its group has its own container. */}}
{{- if gt (len $members) 1 -}}
{{- $_ := set $shared $name (include "kubus.together" (dict "name" $name "members" $members "index" (add 12 $index) "root" $root) | fromYaml) -}}
{{- range $service := $members -}}{{- $_ := set $containerOf $service.name $name -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $containers := list -}}
{{- $made := list -}}
{{- range $service := $services -}}
{{- $instances := int (default 1 $service.values.instances) -}}
{{- $slots := untilStep 0 $instances 1 -}}
{{- $user := $service.user -}}
{{- with index $containerOf $service.name -}}
{{- if not (has . $made) -}}
{{- $made = append $made . -}}
{{- $containers = append $containers (index $shared .) -}}
{{- end -}}
{{- /* Further instances have their own containers, and the state of the first one. */}}
{{- $slots = untilStep 1 $instances 1 -}}
{{- $user = (index $shared .).user -}}
{{- end -}}
{{- if $slots -}}
{{- $containers = append $containers (merge (dict "members" (list $service) "slots" $slots "user" $user) $service) -}}
{{- end -}}
{{- end -}}
{{- dict "containers" $containers | toYaml -}}
{{- end -}}

{{/* What services that share a container have together, as YAML: dict of name, members, index, root. */}}
{{- define "kubus.together" -}}
{{- $own := dict "name" .name "members" .members "index" .index "slots" (list 0) "values" .root.Values.sharedDefaults "user" "kubus" -}}
{{- $capabilities := list -}}
{{- $mounts := dict -}}
{{- $names := list -}}
{{- range $service := .members -}}
{{- $names = append $names $service.name -}}
{{- range $key := list "image" "resources" "logLevel" "extraArgs" "extraEnv" -}}
{{- if hasKey $service.values $key -}}
{{- fail (printf "services.%s.%s: the service shares the container %s, see sharedDefaults" $service.name $key $.name) -}}
{{- end -}}
{{- end -}}
{{- if eq $service.user "root" -}}{{- $_ := set $own "user" "root" -}}{{- end -}}
{{- if $service.privileged -}}{{- $_ := set $own "privileged" true -}}{{- end -}}
{{- if $service.credentials -}}{{- $_ := set $own "credentials" true -}}{{- end -}}
{{- $capabilities = concat $capabilities (default list $service.capabilities) -}}
{{- end -}}
{{- $_ := set $own "capabilities" ($capabilities | uniq | sortAlpha) -}}
{{- range $service := .members -}}
{{- range $mount := $service.mounts -}}
{{- if not (has (default "" $mount.socketsOf) $names) -}}
{{- $key := default $mount.of $mount.socketsOf -}}
{{- $before := default $mount (index $mounts $key) -}}
{{- $one := set (deepCopy $mount) "readOnly" (and (default false $before.readOnly) (default false $mount.readOnly)) -}}
{{- range $propagation := list "HostToContainer" "Bidirectional" -}}
{{- if has $propagation (list $before.propagation $mount.propagation) -}}{{- $_ := set $one "propagation" $propagation -}}{{- end -}}
{{- end -}}
{{- $_ := set $mounts $key $one -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $list := list -}}
{{- range $key := keys $mounts | sortAlpha -}}{{- $list = append $list (index $mounts $key) -}}{{- end -}}
{{- $_ := set $own "mounts" $list -}}
{{- toYaml $own -}}
{{- end -}}

{{/* Merges one mapping into another as a JSON merge patch (RFC 7396), except that null is kept for `kubus install`. */}}
{{- define "kubus.mergePatch" -}}
{{- $target := index . 0 -}}
{{- range $key, $value := index . 1 -}}
{{- if and (kindIs "map" $value) (kindIs "map" (index $target $key)) -}}
{{- include "kubus.mergePatch" (list (index $target $key) $value) -}}
{{- else -}}
{{- $_ := set $target $key $value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The overlay that is merged over the node's configuration. */}}
{{- define "kubus.overlay" -}}
{{- $overlay := dict
  "labels" (merge (dict "kubus.dev/guest" "true") .Values.node.labels)
  "taints" .Values.node.taints
  "dns" (dict "resolvConf" "/etc/kubus/resolv.conf") -}}
{{- $instances := dict -}}
{{- range $name := list "pod-workers" "prober" -}}
{{- $_ := set $instances $name (index $.Values.services $name).instances -}}
{{- end -}}
{{- $_ := set $overlay "instances" $instances -}}
{{- if eq .Values.placement "hosted" -}}
{{- $_ := set $overlay "placement" "hosted" -}}
{{- else if eq .Values.placement "groups" -}}
{{- $_ := set $overlay "placement" .Values.groups -}}
{{- end -}}
{{- if include "kubus.bootstraps" . -}}
{{- $credentials := printf "%s/credentials" (include "kubus.home" .) -}}
{{- $_ := set $overlay "apiServer" (dict
  "kubeconfig" (printf "%s/kubeconfig" $credentials)
  "certDir" $credentials
  "bootstrap" (dict "kubeconfig" "/etc/kubus/cluster/kubeconfig")
  "rotate" true) -}}
{{- else if include "kubus.member" . -}}
{{- $_ := set $overlay "apiServer" (dict
  "kubeconfig" "/etc/kubus/cluster/kubeconfig"
  "certDir" (printf "%s/state/node-agent/pki" (include "kubus.home" .))) -}}
{{- end -}}
{{- with include "kubus.apiPort" . -}}
{{- $authentication := dict -}}
{{- if $.Values.nodeApi.clientCaConfigMap -}}
{{- $_ := set $authentication "clientCaFile" "/etc/kubus/client-ca/ca.crt" -}}
{{- end -}}
{{- $_ := set $overlay "server" (dict "port" (int .) "authentication" $authentication) -}}
{{- end -}}
{{- if not .Values.runtime.enabled -}}
{{- $_ := set $overlay "runtime" (dict "socket" .Values.runtime.socket) -}}
{{- end -}}
{{- $own := .Values.node.config | fromYaml -}}
{{- if hasKey $own "Error" -}}
{{- fail (printf "node.config: %s" $own.Error) -}}
{{- end -}}
{{- include "kubus.mergePatch" (list $overlay $own) -}}
{{- toYaml $overlay -}}
{{- end -}}

{{/* The URL of NATS. */}}
{{- define "kubus.natsUrl" -}}
{{- if .Values.nats.enabled -}}
nats://127.0.0.1:{{ .Values.nats.port }}
{{- else -}}
{{ .Values.nats.external.url }}
{{- end -}}
{{- end -}}

{{/* The chart's pods never run on the nodes that the chart makes. */}}
{{- define "kubus.affinity" -}}
{{- $own := dict "key" "kubus.dev/guest" "operator" "DoesNotExist" -}}
{{- $affinity := deepCopy .Values.affinity -}}
{{- $node := default dict $affinity.nodeAffinity -}}
{{- $required := default dict $node.requiredDuringSchedulingIgnoredDuringExecution -}}
{{- $terms := list -}}
{{- range $term := default (list dict) $required.nodeSelectorTerms -}}
{{- $terms = append $terms (set $term "matchExpressions" (append (default list $term.matchExpressions) $own)) -}}
{{- end -}}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) -}}
{{- $_ := set $affinity "nodeAffinity" $node -}}
{{- toYaml $affinity -}}
{{- end -}}

{{/* A kubeconfig for this cluster, with the files of kubus.clusterAccess. */}}
{{- define "kubus.kubeconfig" -}}
apiVersion: v1
kind: Config
current-context: node
contexts:
  - name: node
    context: { cluster: cluster, user: node }
clusters:
  - name: cluster
    cluster: { server: {{ .Values.cluster.server | quote }}, certificate-authority: /etc/kubus/cluster/ca.crt }
users:
  - name: node
    user: { tokenFile: /etc/kubus/cluster/token }
{{- end -}}

{{/* The source of a volume with that kubeconfig, out of the named ConfigMap, and the files that it names. */}}
{{- define "kubus.clusterAccess" -}}
projected:
  defaultMode: 0444
  sources:
    - configMap:
        name: {{ . }}
        items: [{ key: kubeconfig, path: kubeconfig }]
    - configMap:
        name: kube-root-ca.crt
        items: [{ key: ca.crt, path: ca.crt }]
    - serviceAccountToken: { path: token, expirationSeconds: 3600 }
{{- end -}}

{{/* The annotations of what `helm uninstall` creates, by the step in which it does. */}}
{{- define "kubus.uninstallHook" -}}
{{- dict "helm.sh/hook" "post-delete" "helm.sh/hook-weight" (toString .) "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" | toJson -}}
{{- end -}}
