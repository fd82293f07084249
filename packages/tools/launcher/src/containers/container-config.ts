import { mergePatch } from '@kubus/kubelet-config';
import { busyboxReference, pauseReference } from '@kubus/node-images';
import { ConfigError, type NodeConfig, nodeConfigSchema } from '@kubus/service-kit';
import { join } from 'node:path';
import { runtimeHandler } from '../runtime/containerd-config.ts';
import { POD_CIDR } from '../network/pod-network.ts';
import { type ContainerDir, inContainer } from './container-dir.ts';
import { httpPorts } from './container-services.ts';

/** What `kubus install` is configured with. */
export interface ContainerSettings {
  readonly natsUrl: string;
  /** The node's addresses, as in the node's configuration. Default: none, so that they are found on the machine. */
  readonly nodeIps?: readonly string[];
  readonly logLevel: string;
  readonly observatory: boolean;
  /** Whether the node may use a runtime of the machine that another agent uses too. Default: false. */
  readonly sharedRuntime?: boolean;
  /** Whether the node may be on a machine with a kubelet. Default: true. */
  readonly besideKubelet?: boolean;
  /** The first TCP port of the services' health checks. */
  readonly httpPort: number;
  /** A JSON merge patch for the configuration, and the file that contains it. */
  readonly overlay?: { readonly file: string; readonly patch: unknown } | undefined;
}

/** Where distributions and the CNI project install plugins; searched after the node's own plugin folder. */
const machinePlugins = ['/opt/cni/bin', '/usr/lib/cni'];

/** The path of a native program in the image. */
export function nativeProgram(name: string): string {
  return join(inContainer.programs, 'native', name);
}

/**
 * The configuration of the services of a node in containers.
 *
 * @throws ConfigError that names the overlay and every invalid field.
 */
export function containerConfig(dir: ContainerDir, settings: ContainerSettings): NodeConfig {
  const { overlay } = settings;
  const patched = mergePatch(ownConfig(dir, settings), overlay?.patch ?? {});
  const parsed = nodeConfigSchema.safeParse(patched);
  if (!parsed.success) throw wrong(parsed.error.issues, overlay?.file);
  const config = parsed.data;
  return {
    ...config,
    httpPorts: { ...httpPorts(settings.httpPort, config.instances, config.placement), ...config.httpPorts },
  };
}

function wrong(issues: readonly { path: PropertyKey[]; message: string }[], file = 'the environment'): ConfigError {
  const fields = issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  return new ConfigError('bad-config', `${file}: ${fields}`, { context: { file } });
}

function ownConfig(dir: ContainerDir, settings: ContainerSettings): object {
  return {
    node: dir.node,
    nodeIps: settings.nodeIps ?? [],
    logLevel: settings.logLevel,
    nats: { url: settings.natsUrl, identities: inContainer.identities },
    state: dir.state('.'),
    mallocTrim: nativeProgram('malloc-trim'),
    manifests: { path: inContainer.manifests },
    server: {
      socket: dir.socket('api'),
      streamRelay: nativeProgram('stream-relay'),
      certDir: join(dir.state('node-api'), 'pki'),
      // Each service has its own health check, and a kubelet of the machine may use this port.
      healthz: { port: 0 },
      systemLogs: '/var/log',
    },
    ...(settings.observatory && {
      observatory: {
        socket: dir.socket('observatory'),
        page: join(inContainer.programs, 'packages/observe/observatory-page/dist'),
        contract: join(inContainer.programs, 'packages/tools/contract-document/dist/asyncapi.json'),
      },
    }),
    // Host ports make the kernel accept packets for the loopback from pods; the chains drop them.
    nodeObject: { iptablesUtilChains: true },
    runtime: {
      socket: dir.socket('containerd'),
      relay: nativeProgram('relay'),
      handler: runtimeHandler,
      cgroupRoot: dir.cgroupRoot,
    },
    network: {
      configDir: dir.cni.networks,
      pluginDirs: [dir.plugins, ...machinePlugins],
      socket: dir.socket('cni'),
      namespacesOf: 1,
      podCidrs: [POD_CIDR],
    },
    objects: { socket: dir.socket('objects') },
    pods: {
      root: dir.pods,
      logs: dir.podLogs,
      logLinks: dir.logLinks,
      mountHelper: nativeProgram('mount-helper'),
    },
    images: { gc: { keep: [pauseReference, busyboxReference] } },
  };
}
