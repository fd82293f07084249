import { type Field, type Support, type ValuesOf, honoured, noEffect, partly, plain, pointer } from './field.ts';
import { bool, duration, int32, int64, map, string, strings } from './kinds.ts';

/** The reference's flags that set a field of the configuration, with the field's path. */
export const configFlags: Readonly<Record<string, string>> = {
  address: 'address',
  'allowed-unsafe-sysctls': 'allowedUnsafeSysctls',
  'anonymous-auth': 'authentication.anonymous.enabled',
  'authentication-token-webhook': 'authentication.webhook.enabled',
  'authentication-token-webhook-cache-ttl': 'authentication.webhook.cacheTTL',
  'authorization-mode': 'authorization.mode',
  'authorization-webhook-cache-authorized-ttl': 'authorization.webhook.cacheAuthorizedTTL',
  'authorization-webhook-cache-unauthorized-ttl': 'authorization.webhook.cacheUnauthorizedTTL',
  'cgroup-driver': 'cgroupDriver',
  'cgroup-root': 'cgroupRoot',
  'cgroups-per-qos': 'cgroupsPerQOS',
  'client-ca-file': 'authentication.x509.clientCAFile',
  'cluster-dns': 'clusterDNS',
  'cluster-domain': 'clusterDomain',
  'container-log-max-files': 'containerLogMaxFiles',
  'container-log-max-size': 'containerLogMaxSize',
  'container-runtime-endpoint': 'containerRuntimeEndpoint',
  'contention-profiling': 'enableContentionProfiling',
  'cpu-cfs-quota': 'cpuCFSQuota',
  'cpu-cfs-quota-period': 'cpuCFSQuotaPeriod',
  'cpu-manager-policy': 'cpuManagerPolicy',
  'cpu-manager-policy-options': 'cpuManagerPolicyOptions',
  'cpu-manager-reconcile-period': 'cpuManagerReconcilePeriod',
  'enable-controller-attach-detach': 'enableControllerAttachDetach',
  'enable-debugging-handlers': 'enableDebuggingHandlers',
  'enable-server': 'enableServer',
  'enforce-node-allocatable': 'enforceNodeAllocatable',
  'event-burst': 'eventBurst',
  'event-qps': 'eventRecordQPS',
  'eviction-hard': 'evictionHard',
  'eviction-max-pod-grace-period': 'evictionMaxPodGracePeriod',
  'eviction-minimum-reclaim': 'evictionMinimumReclaim',
  'eviction-pressure-transition-period': 'evictionPressureTransitionPeriod',
  'eviction-soft': 'evictionSoft',
  'eviction-soft-grace-period': 'evictionSoftGracePeriod',
  'fail-cgroupv1': 'failCgroupV1',
  'fail-swap-on': 'failSwapOn',
  'feature-gates': 'featureGates',
  'file-check-frequency': 'fileCheckFrequency',
  'hairpin-mode': 'hairpinMode',
  'healthz-bind-address': 'healthzBindAddress',
  'healthz-port': 'healthzPort',
  'http-check-frequency': 'httpCheckFrequency',
  'image-gc-high-threshold': 'imageGCHighThresholdPercent',
  'image-gc-low-threshold': 'imageGCLowThresholdPercent',
  'image-service-endpoint': 'imageServiceEndpoint',
  'kernel-memcg-notification': 'kernelMemcgNotification',
  'kube-api-burst': 'kubeAPIBurst',
  'kube-api-content-type': 'contentType',
  'kube-api-qps': 'kubeAPIQPS',
  'kube-reserved': 'kubeReserved',
  'kube-reserved-cgroup': 'kubeReservedCgroup',
  'kubelet-cgroups': 'kubeletCgroups',
  'local-storage-capacity-isolation': 'localStorageCapacityIsolation',
  'log-flush-frequency': 'logging.flushFrequency',
  'log-json-info-buffer-size': 'logging.options.json.infoBufferSize',
  'log-json-split-stream': 'logging.options.json.splitStream',
  'log-text-info-buffer-size': 'logging.options.text.infoBufferSize',
  'log-text-split-stream': 'logging.options.text.splitStream',
  'logging-format': 'logging.format',
  'make-iptables-util-chains': 'makeIPTablesUtilChains',
  'manifest-url': 'staticPodURL',
  'manifest-url-header': 'staticPodURLHeader',
  'max-open-files': 'maxOpenFiles',
  'max-pods': 'maxPods',
  'memory-manager-policy': 'memoryManagerPolicy',
  'minimum-image-ttl-duration': 'imageMinimumGCAge',
  'node-status-max-images': 'nodeStatusMaxImages',
  'node-status-update-frequency': 'nodeStatusUpdateFrequency',
  'oom-score-adj': 'oomScoreAdj',
  'pod-cidr': 'podCIDR',
  'pod-manifest-path': 'staticPodPath',
  'pod-max-pids': 'podPidsLimit',
  'pods-per-core': 'podsPerCore',
  port: 'port',
  'protect-kernel-defaults': 'protectKernelDefaults',
  'provider-id': 'providerID',
  'qos-reserved': 'qosReserved',
  'read-only-port': 'readOnlyPort',
  'register-node': 'registerNode',
  'register-with-taints': 'registerWithTaints',
  'registry-burst': 'registryBurst',
  'registry-qps': 'registryPullQPS',
  'reserved-cpus': 'reservedSystemCPUs',
  'reserved-memory': 'reservedMemory',
  'resolv-conf': 'resolvConf',
  'rotate-certificates': 'rotateCertificates',
  'rotate-server-certificates': 'serverTLSBootstrap',
  runonce: 'runOnce',
  'runtime-request-timeout': 'runtimeRequestTimeout',
  'serialize-image-pulls': 'serializeImagePulls',
  'streaming-connection-idle-timeout': 'streamingConnectionIdleTimeout',
  'sync-frequency': 'syncFrequency',
  'system-cgroups': 'systemCgroups',
  'system-reserved': 'systemReserved',
  'system-reserved-cgroup': 'systemReservedCgroup',
  'tls-cert-file': 'tlsCertFile',
  'tls-cipher-suites': 'tlsCipherSuites',
  'tls-min-version': 'tlsMinVersion',
  'tls-private-key-file': 'tlsPrivateKeyFile',
  'topology-manager-policy': 'topologyManagerPolicy',
  'topology-manager-policy-options': 'topologyManagerPolicyOptions',
  'topology-manager-scope': 'topologyManagerScope',
  v: 'logging.verbosity',
  vmodule: 'logging.vmodule',
  'volume-plugin-dir': 'volumePluginDir',
  'volume-stats-agg-period': 'volumeStatsAggPeriod',
};

/** Those of them that are not deprecated in the reference. */
export const lastingFlags: ReadonlySet<string> = new Set([
  'v',
  'vmodule',
  'log-flush-frequency',
  'provider-id',
  'fail-cgroupv1',
]);

/** The flags that do not set a field, by name. */
const ownFlagTable = {
  config: plain(string, '', honoured),
  'config-dir': plain(string, '', honoured),
  kubeconfig: plain(string, '', honoured),
  'bootstrap-kubeconfig': plain(string, '', honoured),
  'hostname-override': plain(string, '', honoured),
  'node-ip': plain(string, '', honoured),
  'cert-dir': plain(string, '/var/lib/kubelet/pki', honoured),
  'cloud-provider': plain(string, '', honoured),
  'root-dir': plain(string, '/var/lib/kubelet', honoured),
  'seccomp-default': plain(bool, false, honoured),
  'node-labels': plain(map, {}, honoured),
  'lock-file': plain(string, '', honoured),
  'exit-on-lock-contention': plain(bool, false, honoured),
  'minimum-container-ttl-duration': plain(duration, 0, honoured),
  'maximum-dead-containers-per-container': plain(int32, 1, honoured),
  'maximum-dead-containers': plain(int32, -1, honoured),
  'experimental-mounter-path': plain(string, '', noEffect),
  'experimental-allocatable-ignore-eviction': plain(bool, false, honoured),
  'runtime-cgroups': plain(string, '', honoured),
  'image-credential-provider-config': plain(string, '', honoured),
  'image-credential-provider-bin-dir': plain(string, '', honoured),
  help: plain(bool, false, honoured),
  version: plain(string, 'false', honoured),
};

/** Flags that only Kubus has. */
export const kubusFlagTable = {
  /**
   * An existing NATS server, `nats://HOST:PORT` or `tls://HOST:PORT`, the file with the CA certificates by which it is verified,
   * and the folder of the node's identities there.
   */
  nats: plain(string, '', honoured),
  'nats-ca': plain(string, '', honoured),
  'nats-folder': plain(string, '', honoured),
  /**
   * A hub to which the node's events are sent, `nats-leaf://HOST:PORT` or `tls://HOST:PORT`, the file with the CA certificates
   * by which it is verified, and the file with `USER:PASSWORD` for it.
   */
  hub: plain(string, '', honoured),
  'hub-ca': plain(string, '', honoured),
  'hub-credentials': plain(string, '', honoured),
  /** Which services share a process: `separate`, `hosted` (all), or a file that names groups. */
  placement: plain(string, 'hosted', honoured),
  /** The runtime handler whose network cni-bridge runs; none when it is empty, or when the runtime does not have it. */
  'runtime-handler': plain(string, 'kubus', honoured),
  /** The folder of the network configurations that cni-bridge runs in that case, and the folders of their plugins. */
  'cni-conf-dir': plain(string, '/etc/cni/net.d', honoured),
  'cni-bin-dir': pointer(strings, ['/opt/cni/bin', '/usr/lib/cni'], honoured),
};

const statistics: Support = partly('a setting of the reference’s statistics collector');

/** Flags of the reference's statistics collector, which exist there for historical reasons. */
const statisticsFlagTable = {
  'housekeeping-interval': plain(duration, 10_000, statistics),
  'max-housekeeping-interval': plain(duration, 15_000, statistics),
  'application-metrics-count-limit': plain(int64, 100, statistics),
  'boot-id-file': plain(string, '/proc/sys/kernel/random/boot_id', statistics),
  'container-hints': plain(string, '/etc/cadvisor/container_hints.json', statistics),
  containerd: plain(string, '/run/containerd/containerd.sock', statistics),
  'containerd-namespace': plain(string, 'k8s.io', statistics),
  'enable-load-reader': plain(bool, false, statistics),
  'event-storage-age-limit': plain(string, 'default=0', statistics),
  'event-storage-event-limit': plain(string, 'default=0', statistics),
  'global-housekeeping-interval': plain(duration, 60_000, statistics),
  'log-cadvisor-usage': plain(bool, false, statistics),
  'machine-id-file': plain(string, '/etc/machine-id,/var/lib/dbus/machine-id', statistics),
  'storage-driver-user': plain(string, 'root', statistics),
  'storage-driver-password': plain(string, 'root', statistics),
  'storage-driver-host': plain(string, 'localhost:8086', statistics),
  'storage-driver-db': plain(string, 'cadvisor', statistics),
  'storage-driver-table': plain(string, 'stats', statistics),
  'storage-driver-secure': plain(bool, false, statistics),
  'storage-driver-buffer-duration': plain(duration, 60_000, statistics),
};

/** The values of the flags that do not set a field. */
export type KubeletFlags = ValuesOf<typeof ownFlagTable & typeof kubusFlagTable>;

/** All flags that do not set a field. */
export const otherFlags: ReadonlyMap<string, Field<unknown>> = new Map<string, Field<unknown>>(
  Object.entries({ ...ownFlagTable, ...kubusFlagTable, ...statisticsFlagTable }),
);
