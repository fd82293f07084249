import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from './errors.ts';

/** Where distributions (Debian, Ubuntu) and the CNI project's own releases put the plugins. */
const pluginFolders = ['/usr/lib/cni', '/opt/cni/bin'];

/**
 * The folder that holds the machine's CNI plugins.
 *
 * @throws LauncherError `CniPluginsMissing`.
 */
export async function findCniPlugins(): Promise<string> {
  for (const folder of pluginFolders) {
    if (await isThere(join(folder, 'bridge'))) {
      return folder;
    }
  }
  throw new LauncherError(
    'CniPluginsMissing',
    `No CNI plugins in ${pluginFolders.join(' or ')}: install containernetworking-plugins`,
  );
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** The addresses of a private node's pods. The first one is the bridge's. */
export const POD_CIDR = '10.88.0.0/16';

/** The bridge that they are on. */
export const BRIDGE = 'kubus0';

export interface PodNetworkOptions {
  readonly name?: string;
  /** Addresses of pods. Left out: cni-bridge gives the plugins the node's podCIDRs. */
  readonly subnet?: string;
  /** Where host-local keeps one file per address in use. */
  readonly dataDir: string;
  /** Pods reach what the machine reaches, also where its firewall forwards nothing of its own accord. */
  readonly wayOut?: boolean;
}

/**
 * The pod network of a private node as a conflist (CNI specification 1.0.0, which plugins from 1.0 on speak): a bridge in
 * the node's network namespace, addresses from host-local, host ports through portmap. No masquerading without a way out: the
 * iptables calls would only make each pod slower.
 */
export function podNetwork({ name = 'kubus', subnet, dataDir, wayOut = false }: PodNetworkOptions): string {
  const ipam = { type: 'host-local', dataDir, routes: [{ dst: '0.0.0.0/0' }] };
  const conflist = {
    cniVersion: '1.0.0',
    name,
    plugins: [
      {
        type: 'bridge',
        bridge: BRIDGE,
        isGateway: true,
        // A pod reaches itself through a service address.
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
