import { mergePatch } from '@kubus/kubelet-config';
import { busyboxReference, pauseReference } from '@kubus/node-images';
import { ConfigError, type NodeConfig, nodeConfigSchema } from '@kubus/service-kit';
import { join } from 'node:path';
import { runtimeHandler } from '../containerd-config.ts';
import { POD_CIDR } from '../pod-network.ts';
import { type ContainerDir, inContainer } from './container-dir.ts';
import { httpPorts } from './container-services.ts';

export interface ContainerSettings {
  readonly natsUrl: string;
  readonly logLevel: string;
  readonly observatory: boolean;
  /** The node uses a runtime that is not its own although another agent does. */
  readonly sharedRuntime?: boolean;
  /** The first port of the services' checks. */
  readonly httpPort: number;
  /** What is merged over the configuration, and the file that says so. */
  readonly overlay?: { readonly file: string; readonly patch: unknown } | undefined;
}

/** Where distributions and the CNI project put plugins, after those that were put there for the node. */
const machinePlugins = ['/opt/cni/bin', '/usr/lib/cni'];

/** A native program in the image. */
export function nativeProgram(name: string): string {
  return join(inContainer.programs, 'native', name);
}

/**
 * What the services of a node in containers are told.
 *
 * @throws ConfigError that names the overlay and every wrong field.
 */
export function containerConfig(dir: ContainerDir, settings: ContainerSettings): NodeConfig {
  const { overlay } = settings;
  const patched = mergePatch(ownConfig(dir, settings), overlay?.patch ?? {});
  const parsed = nodeConfigSchema.safeParse(patched);
  if (!parsed.success) throw wrong(parsed.error.issues, overlay?.file);
  const config = parsed.data;
  return { ...config, httpPorts: { ...httpPorts(settings.httpPort, config.instances), ...config.httpPorts } };
}

function wrong(issues: readonly { path: PropertyKey[]; message: string }[], file = 'the environment'): ConfigError {
  const fields = issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  return new ConfigError('bad-config', `${file}: ${fields}`, { context: { file } });
}

function ownConfig(dir: ContainerDir, settings: ContainerSettings): object {
  return {
    node: dir.node,
    logLevel: settings.logLevel,
    nats: { url: settings.natsUrl, identities: inContainer.identities },
    state: dir.state('.'),
    manifests: { path: inContainer.manifests },
    server: {
      socket: dir.socket('api'),
      streamRelay: nativeProgram('stream-relay'),
      certDir: join(dir.state('node-api'), 'pki'),
      // Each service has a check of its own, and the kubelet's port may be the kubelet's.
      healthz: { port: 0 },
      systemLogs: '/var/log',
    },
    ...(settings.observatory && {
      observatory: {
        socket: dir.socket('observatory'),
        page: join(inContainer.programs, 'packages/observatory-page/dist'),
        contract: join(inContainer.programs, 'packages/contract-document/dist/asyncapi.json'),
      },
    }),
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
    pods: { root: dir.pods, logs: dir.podLogs, logLinks: dir.logLinks },
    images: { gc: { keep: [pauseReference, busyboxReference] } },
  };
}
