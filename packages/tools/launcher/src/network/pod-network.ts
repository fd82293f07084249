import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from '../errors.ts';

/** Where distributions (Debian, Ubuntu) and the releases of the CNI project install the plugins. */
const pluginFolders = ['/usr/lib/cni', '/opt/cni/bin'];

/**
 * The folder that holds the machine's CNI plugins.
 *
 * @throws LauncherError `CniPluginsMissing`.
 */
export async function findCniPlugins(): Promise<string> {
  for (const folder of pluginFolders) {
    if (await exists(join(folder, 'bridge'))) {
      return folder;
    }
  }
  throw new LauncherError(
    'CniPluginsMissing',
    `There are no CNI plugins in ${pluginFolders.join(' or ')}: install the package containernetworking-plugins`,
  );
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** The pod CIDR of a private node. The first address is the bridge's. */
export const POD_CIDR = '10.88.0.0/16';

/** The bridge of a private node's pods. */
export const BRIDGE = 'kubus0';

/** Options of {@link podNetwork}. */
export interface PodNetworkOptions {
  /** Default: {@link BRIDGE}. */
  readonly bridge?: string;
  /** Name of the network. Default: `kubus`. */
  readonly name?: string;
  /** Pod CIDR. Default: cni-bridge passes the node's podCIDRs to the plugins. */
  readonly subnet?: string;
  /** Folder in which host-local keeps one file per address in use. */
  readonly dataDir: string;
  /** Masquerade and open the firewall, so that pods reach what the machine reaches. Default: false. */
  readonly wayOut?: boolean;
}

/**
 * The pod network of a private node as a conflist (CNI specification 1.0.0, supported by plugins from 1.0 on): a bridge in the node's network
 * namespace, addresses from host-local, host ports through portmap. It masquerades only with `wayOut`, since the iptables calls slow
 * down every pod.
 */
export function podNetwork({
  name = 'kubus',
  bridge = BRIDGE,
  subnet,
  dataDir,
  wayOut = false,
}: PodNetworkOptions): string {
  const ipam = { type: 'host-local', dataDir, routes: [{ dst: '0.0.0.0/0' }] };
  const conflist = {
    cniVersion: '1.0.0',
    name,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        // So that a pod reaches itself through a Service address.
        hairpinMode: true,
        ...(wayOut && { ipMasq: true }),
        ...(subnet === undefined
          ? { capabilities: { ipRanges: true }, ipam }
          : { ipam: { ...ipam, ranges: [[{ subnet }]] } }),
      },
      { type: 'portmap', capabilities: { portMappings: true } },
      ...(wayOut ? [{ type: 'firewall' }] : []),
    ],
  };
  return `${JSON.stringify(conflist, undefined, 2)}\n`;
}
