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
