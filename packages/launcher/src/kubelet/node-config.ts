import { ID_UNIT, parseQuantity, quantityUnits } from '@kubus/contracts';
import {
  type KubeletConfiguration,
  type KubeletFlags,
  type KubeletSettings,
  topologyOptions,
} from '@kubus/kubelet-config';
import { type NodeConfig, levelOf, nodeConfigSchema } from '@kubus/service-kit';
import { dirname, join } from 'node:path';
import { LauncherError } from '../errors.ts';
import type { NatsAccess } from '../nats-relay.ts';
import { apiSocket, isNodeName } from '../node-dir.ts';
import { identitiesFolder } from '../node-settings.ts';
import type { KubeletDir } from './kubelet-dir.ts';

/** What is known beside the settings. */
export interface NodeParts {
  readonly dir: KubeletDir;
  readonly nats: NatsAccess;
  /** The holding relay between cri-bridge and the runtime. */
  readonly relay: string;
  /** The relay between a client of the node's API and the runtime's streaming server. */
  readonly streamRelay: string;
  /** The container runtime's socket. */
  readonly runtime: string;
  /** The runtime's handler whose network is cni-bridge's, if it has it. */
  readonly handler: string | undefined;
  /** Who makes cgroups: what the runtime says, else what is configured. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly nodeIps: readonly string[];
  readonly cpus: number;
  /** The file that holds what `/configz` shows. */
  readonly configz: string;
  /** The file that holds what `/flagz` shows. */
  readonly flagz: string;
}

/**
 * The node's name: that of `--hostname-override`, else the machine's, in lower case (kubelet behaviour 1.16).
 *
 * @throws LauncherError `InvalidNodeName`
 */
export function nodeName({ 'hostname-override': override }: KubeletFlags, hostname: string): string {
  const name = (override === '' ? hostname : override).trim().toLowerCase();
  if (isNodeName(name)) return name;
  const where = override === '' ? 'the machine’s host name' : '--hostname-override';
  throw new LauncherError('InvalidNodeName', `${where} "${name}" is no name for a node: it must be a DNS subdomain`);
}

/**
 * The path of the socket in `unix:///run/x.sock`; a path alone is taken as one too.
 *
 * @throws LauncherError `BadEndpoint` for anything else.
 */
export function socketOf(endpoint: string): string {
  const path = endpoint.startsWith('/') ? endpoint : /^unix:(?:\/\/)?(\/[^/].*)$/.exec(endpoint)?.[1];
  if (path !== undefined) return path;
  const message = `containerRuntimeEndpoint (--container-runtime-endpoint) "${endpoint}" is no unix socket: use unix:///PATH`;
  throw new LauncherError('BadEndpoint', message);
}

/** Whether the node has an HTTPS API: without an API server nobody could say who may use it, where it has to be asked. */
export function servesHttps({ config, flags }: Pick<KubeletSettings, 'config' | 'flags'>): boolean {
  const { enableServer, authentication, authorization } = config;
  const isAsked = authentication.webhook.enabled || authorization.mode === 'Webhook';
  return enableServer && (flags.kubeconfig !== '' || !isAsked);
}

/** What the services of the node are told. */
export function nodeConfigOf({ config, flags }: KubeletSettings, parts: NodeParts): NodeConfig {
  const { dir } = parts;
  const { logging, staticPodPath, staticPodURL } = config;
  return nodeConfigSchema.parse({
    node: dir.node,
    nodeIps: parts.nodeIps,
    logLevel: levelOf(logging.verbosity),
    journal: false,
    nats: { ...parts.nats, identities: identitiesFolder(dir) },
    state: dir.state('.'),
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
      // Without our handler the runtime runs CNI: what it made must not be taken for left over.
      configDir: parts.handler === undefined ? dir.nothing : flags['cni-conf-dir'],
      pluginDirs: flags['cni-bin-dir'],
      socket: dir.socket('cni'),
      podCidrs: config.podCIDR.split(',').filter((text) => text !== ''),
    },
    pods: pods(config, parts),
    labels: flags['node-labels'],
    taints: config.registerWithTaints.map(({ key, value, effect }) => ({ key, value, effect })),
    reserved: {
      system: config.systemReserved,
      kube: config.kubeReserved,
      evictionHard: flags['experimental-allocatable-ignore-eviction'] ? {} : config.evictionHard,
    },
    devices: devices(config),
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

function bytes(quantity: string): number {
  const parsed = parseQuantity(quantity);
  return parsed === undefined ? 0 : Number(quantityUnits(parsed));
}

function pods(config: KubeletConfiguration, { dir, cgroupDriver, cpus }: NodeParts): object {
  const { maxPods, podsPerCore, podPidsLimit } = config;
  return {
    root: dir.kubeletRoot,
    logs: config.podLogsDir,
    // Where collectors of logs look: beside the logs, /var/log/containers by default.
    logLinks: join(dirname(config.podLogsDir), 'containers'),
    syncEveryMs: config.syncFrequency,
    cgroupDriver,
    max: podsPerCore === 0 ? maxPods : Math.min(maxPods, podsPerCore * cpus),
    unsafeSysctls: config.allowedUnsafeSysctls,
    ...(podPidsLimit > 0 && { pidsLimit: podPidsLimit }),
  };
}

function devices(config: KubeletConfiguration): object {
  const { topologyManagerPolicy: topologyPolicy, topologyManagerScope: topologyScope } = config;
  // With `none` they say nothing, and nobody has looked at them.
  if (topologyPolicy === 'none') return { topologyPolicy, topologyScope };
  const { preferClosest: preferClosestNodes, mostNodes } = topologyOptions(config.topologyManagerPolicyOptions);
  return { topologyPolicy, topologyScope, preferClosestNodes, mostNodes };
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

/** What makes the node a member of its cluster. */
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
