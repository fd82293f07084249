import { ID_UNIT } from '@kubus/contracts';
import { type KubeletConfiguration, type KubeletFlags, type KubeletSettings } from '@kubus/kubelet-config';
import { type NodeConfig, levelOf, nodeConfigSchema } from '@kubus/service-kit';
import { LauncherError } from '../errors.ts';
import type { NatsAccess } from '../nats/nats-relay.ts';
import { apiSocket, isNodeName } from '../node/node-dir.ts';
import { identitiesFolder } from '../node/node-settings.ts';
import { devices, exclusive, reservedWithCpus } from './exclusive-config.ts';
import type { KubeletDir } from './kubelet-dir.ts';
import { bytes } from './quantity-bytes.ts';

/** Where log collectors look for logs, wherever those are (behaviour:labels-paths-logs, log paths). */
const LOG_LINKS = '/var/log/containers';

/** The inputs of the services' configuration besides the kubelet's settings. */
export interface NodeParts {
  readonly dir: KubeletDir;
  readonly nats: NatsAccess;
  /** The relay between cri-bridge and the runtime. */
  readonly relay: string;
  /** The relay between a client of the node's API and the runtime's streaming server. */
  readonly streamRelay: string;
  /** The helper that makes volume-manager's mounts. */
  readonly mountHelper: string;
  /** The program that waits for the kernel to say that memory is short; undefined: this kernel does not. */
  readonly memoryWatch: string | undefined;
  /** The addon with which a process at rest gives free memory back. */
  readonly mallocTrim: string;
  /** The container runtime's socket. */
  readonly runtime: string;
  /** The runtime handler whose network cni-bridge sets up; undefined: the runtime has no such handler. */
  readonly handler: string | undefined;
  /** The cgroup driver: the runtime's, else the configured one. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  /** The kernel can limit swap. */
  readonly accountsForSwap: boolean;
  /** The agent's own cgroup; empty: unknown. */
  readonly agentCgroup: string;
  /** When the agent was started, in milliseconds since the Unix epoch. */
  readonly startedAtMs: number;
  readonly nodeIps: readonly string[];
  readonly cpus: number;
  /** The file with the content of `/configz`. */
  readonly configz: string;
  /** The file with the content of `/flagz`. */
  readonly flagz: string;
}

/**
 * The node's name: that of `--hostname-override`, else the machine's, in lower case (behaviour:node-object).
 *
 * @throws LauncherError `InvalidNodeName`
 */
export function nodeName({ 'hostname-override': override }: KubeletFlags, hostname: string): string {
  const name = (override === '' ? hostname : override).trim().toLowerCase();
  if (isNodeName(name)) return name;
  const where = override === '' ? 'the machine’s host name' : '--hostname-override';
  throw new LauncherError(
    'InvalidNodeName',
    `${where} "${name}" is not a valid node name: it must be a DNS subdomain (lower-case letters, digits, "-" and ".")`,
  );
}

/**
 * The path of the socket in `unix:///run/x.sock`, or in a plain path.
 *
 * @throws LauncherError `BadEndpoint` for anything else.
 */
export function socketOf(endpoint: string): string {
  const path = endpoint.startsWith('/') ? endpoint : /^unix:(?:\/\/)?(\/[^/].*)$/.exec(endpoint)?.[1];
  if (path !== undefined) return path;
  const message = `containerRuntimeEndpoint (--container-runtime-endpoint) "${endpoint}" is not a unix socket: use unix:///PATH`;
  throw new LauncherError('BadEndpoint', message);
}

/** Whether the node serves the HTTPS API: not when webhook authentication or authorization would need an API server that it does not have. */
export function servesHttps({ config, flags }: Pick<KubeletSettings, 'config' | 'flags'>): boolean {
  const { enableServer, authentication, authorization } = config;
  const needsApiServer = authentication.webhook.enabled || authorization.mode === 'Webhook';
  return enableServer && (flags.kubeconfig !== '' || !needsApiServer);
}

/** The configuration of the node's services. */
export function nodeConfigOf(settings: KubeletSettings, parts: NodeParts): NodeConfig {
  const { config, flags, shutdown } = settings;
  const { dir } = parts;
  const { logging, staticPodPath, staticPodURL } = config;
  return nodeConfigSchema.parse({
    node: dir.node,
    nodeIps: parts.nodeIps,
    logLevel: levelOf(logging.verbosity),
    journal: false,
    nats: { ...parts.nats, identities: identitiesFolder(dir) },
    state: dir.state('.'),
    mallocTrim: parts.mallocTrim,
    ...(staticPodPath !== '' && { manifests: { path: staticPodPath, checkEveryMs: config.fileCheckFrequency } }),
    ...(staticPodURL !== '' && {
      manifestUrl: {
        url: staticPodURL,
        headers: config.staticPodURLHeader,
        checkEveryMs: config.httpCheckFrequency,
      },
    }),
    ...(flags.kubeconfig !== '' && cluster(config, flags, parts)),
    server: server({ config, flags }, parts),
    nodeObject: nodeObject(config, flags),
    runtime: {
      socket: parts.runtime,
      relay: parts.relay,
      handler: parts.handler,
      cgroupRoot: config.cgroupRoot === '' ? '/' : config.cgroupRoot,
    },
    network: {
      // Without our handler the runtime runs CNI itself: cni-bridge must not garbage-collect its networks.
      configDir: parts.handler === undefined ? dir.nothing : flags['cni-conf-dir'],
      pluginDirs: flags['cni-bin-dir'],
      socket: dir.socket('cni'),
      podCidrs: config.podCIDR.split(',').filter((text) => text !== ''),
    },
    pods: pods(settings, parts),
    ...(shutdown !== undefined && { shutdown }),
    labels: flags['node-labels'],
    taints: config.registerWithTaints.map(({ key, value, effect }) => ({ key, value, effect })),
    reserved: {
      ...reservedWithCpus(config),
      evictionHard: flags['experimental-allocatable-ignore-eviction'] ? {} : config.evictionHard,
      enforce: config.enforceNodeAllocatable.filter((value) => value !== 'none'),
      systemCgroup: config.systemReservedCgroup,
      kubeCgroup: config.kubeReservedCgroup,
      qosMemoryPercent: settings.podMemory.reservedPercent,
    },
    eviction: {
      ...eviction(config, flags),
      ...(config.kernelMemcgNotification && parts.memoryWatch !== undefined && { memoryWatch: parts.memoryWatch }),
    },
    systemCgroups: {
      kubelet: parts.agentCgroup,
      kubeletStartedAtMs: parts.startedAtMs,
      runtime: flags['runtime-cgroups'],
      misc: config.systemCgroups,
    },
    devices: devices(config),
    exclusive: exclusive(config),
    userNamespaces: { idsPerPod: config.userNamespaces.idsPerPod ?? ID_UNIT },
    images: images(config, flags),
    events: { qps: config.eventRecordQPS, burst: Math.max(1, config.eventBurst) },
    logs: {
      maxSize: bytes(config.containerLogMaxSize),
      maxFiles: config.containerLogMaxFiles,
      monitorEveryMs: config.containerLogMonitorInterval,
      workers: config.containerLogMaxWorkers,
    },
    dns: { servers: config.clusterDNS, domain: config.clusterDomain, resolvConf: config.resolvConf },
  });
}

function eviction(config: KubeletConfiguration, flags: KubeletFlags): object {
  return {
    hard: config.evictionHard,
    soft: config.evictionSoft,
    softGracePeriod: config.evictionSoftGracePeriod,
    minimumReclaim: config.evictionMinimumReclaim,
    ofAllocatable: config.enforceNodeAllocatable.includes('pods') && !flags['experimental-allocatable-ignore-eviction'],
    transitionMs: config.evictionPressureTransitionPeriod,
    maxPodGraceSeconds: config.evictionMaxPodGracePeriod,
    storageLimits: config.localStorageCapacityIsolation,
  };
}

function pods(
  { config, flags, podMemory }: Pick<KubeletSettings, 'config' | 'flags' | 'podMemory'>,
  { dir, mountHelper, cgroupDriver, cpus, accountsForSwap }: NodeParts,
): object {
  const { maxPods, podsPerCore, podPidsLimit } = config;
  return {
    root: dir.kubeletRoot,
    devicePlugins: dir.devicePlugins,
    mountHelper,
    projectQuotas: config.featureGates['LocalStorageCapacityIsolationFSQuotaMonitoring'] === true,
    logs: config.podLogsDir,
    logLinks: LOG_LINKS,
    syncEveryMs: config.syncFrequency,
    cgroupDriver,
    max: podsPerCore === 0 ? maxPods : Math.min(maxPods, podsPerCore * cpus),
    unsafeSysctls: config.allowedUnsafeSysctls,
    seccompDefault: config.seccompDefault || flags['seccomp-default'],
    cpuQuota: config.cpuCFSQuota,
    ...(config.featureGates['CustomCPUCFSQuotaPeriod'] !== false && {
      cpuPeriodUs: Math.round(config.cpuCFSQuotaPeriod * 1000),
    }),
    // On cgroup v1 the kernel never does anything else.
    singleProcessOomKill: config.singleProcessOOMKill ?? false,
    swapBehavior: podMemory.limitedSwap && accountsForSwap ? 'LimitedSwap' : 'NoSwap',
    memoryQos: podMemory.qos,
    ...(podPidsLimit > 0 && { pidsLimit: podPidsLimit }),
    deadContainers: {
      perContainer: flags['maximum-dead-containers-per-container'],
      total: flags['maximum-dead-containers'],
      minAgeMs: flags['minimum-container-ttl-duration'],
    },
  };
}

function images(config: KubeletConfiguration, flags: KubeletFlags): object {
  const [providers, binDir] = [flags['image-credential-provider-config'], flags['image-credential-provider-bin-dir']];
  return {
    pullQps: config.registryPullQPS,
    pullBurst: Math.max(1, config.registryBurst),
    serialize: config.serializeImagePulls,
    maxParallel: config.maxParallelImagePulls,
    ...(providers !== '' && { providers: { config: providers, binDir } }),
    verification: {
      policy: config.imagePullCredentialsVerificationPolicy,
      allowlist: config.preloadedImagesVerificationAllowlist,
    },
    gc: {
      highPercent: config.imageGCHighThresholdPercent,
      lowPercent: config.imageGCLowThresholdPercent,
      minAgeMs: config.imageMinimumGCAge,
      maxAgeMs: config.imageMaximumGCAge,
    },
  };
}

function nodeObject(config: KubeletConfiguration, flags: KubeletFlags): object {
  const override = flags['hostname-override'];
  return {
    register: config.registerNode,
    statusEveryMs: config.nodeStatusUpdateFrequency,
    reportEveryMs: config.nodeStatusReportFrequency,
    leaseSeconds: config.nodeLeaseDurationSeconds,
    maxImages: config.nodeStatusMaxImages,
    providerId: config.providerID,
    externalCloud: flags['cloud-provider'] === 'external',
    ...(override !== '' && { hostname: override }),
    iptablesUtilChains: config.makeIPTablesUtilChains,
    controllerAttachDetach: config.enableControllerAttachDetach,
  };
}

/** The configuration of a member of a cluster. */
function cluster(config: KubeletConfiguration, flags: KubeletFlags, { dir }: NodeParts): object {
  const bootstrap = flags['bootstrap-kubeconfig'];
  return {
    apiServer: {
      kubeconfig: flags.kubeconfig,
      // 0 stands for the default of both.
      qps: config.kubeAPIQPS === 0 ? 50 : config.kubeAPIQPS,
      burst: config.kubeAPIBurst === 0 ? 100 : config.kubeAPIBurst,
      ...(bootstrap !== '' && { bootstrap: { kubeconfig: bootstrap } }),
      certDir: flags['cert-dir'],
      rotate: config.rotateCertificates,
    },
    objects: { socket: dir.socket('objects') },
  };
}

function server(
  { config, flags }: Pick<KubeletSettings, 'config' | 'flags'>,
  { dir, configz, flagz, streamRelay }: NodeParts,
): object {
  const { authentication, authorization, tlsCertFile: certFile, tlsPrivateKeyFile: keyFile } = config;
  const { clientCAFile } = authentication.x509;
  return {
    socket: apiSocket(dir),
    address: config.address,
    ...(servesHttps({ config, flags }) && { port: config.port }),
    readOnlyPort: config.readOnlyPort,
    healthz: { address: config.healthzBindAddress, port: config.healthzPort },
    ...(certFile !== '' && keyFile !== '' && { tls: { certFile, keyFile } }),
    certDir: flags['cert-dir'],
    bootstrapTls: config.serverTLSBootstrap,
    ...(config.tlsMinVersion !== '' && { minVersion: config.tlsMinVersion }),
    cipherSuites: config.tlsCipherSuites,
    authentication: {
      ...(clientCAFile !== '' && { clientCaFile: clientCAFile }),
      webhook: authentication.webhook.enabled,
      webhookCacheMs: authentication.webhook.cacheTTL,
      anonymous: authentication.anonymous.enabled,
    },
    authorization: {
      mode: authorization.mode,
      allowedCacheMs: authorization.webhook.cacheAuthorizedTTL,
      deniedCacheMs: authorization.webhook.cacheUnauthorizedTTL,
    },
    ...(config.streamingConnectionIdleTimeout > 0 && { streamIdleMs: config.streamingConnectionIdleTimeout }),
    streamRelay,
    debuggingHandlers: config.enableDebuggingHandlers,
    ...(config.enableSystemLogHandler && { systemLogs: '/var/log' }),
    systemLogQuery: config.enableSystemLogQuery,
    debugFlags: config.enableDebugFlagsHandler,
    profiling: config.enableProfilingHandler,
    configz,
    flagz,
  };
}
