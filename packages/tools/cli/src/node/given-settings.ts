import type { NodeSettings } from '@kubus/launcher';
import { isDeepEqual } from '@kubus/pod';
import type { UpOptions } from '../commands/up-options.ts';

/** The settings of a node that have options of `up`. */
export type GivenSettings = Partial<
  Omit<NodeSettings, 'apiPort' | 'bridge' | 'subnet' | 'ports' | 'page' | 'contract' | 'programs' | 'images' | 'cache'>
>;

type Setting = GivenSettings[keyof GivenSettings];

/** A setting of a running node that is not what an option asks for. */
export interface SettingChange {
  /** The option, such as `--observatory`. */
  readonly flag: string;
  /** What the node has, for people. */
  readonly has: string;
  /** Whether it cannot change as long as the node exists. */
  readonly needsNewNode: boolean;
}

/** The settings that the options mean. */
export function settingsOf(options: UpOptions): GivenSettings {
  const { manifests, nats, hub, logLevel, containerd, kubeconfig, elsewhere, scale } = options;
  const { placement, config, network, publish, registry: registries, registryHosts } = options;
  const { api = kubeconfig === undefined, journal = false, observatory = false, faults = false } = options;
  return {
    ...{ manifests, nats, hub, logLevel, journal, containerd, kubeconfig, elsewhere, placement, observatory, faults },
    api,
    ...{ config, network, publish, registries, registryHosts },
    natsCa: options.natsCa !== undefined,
    hubCa: options.hubCa !== undefined,
    instances: scale,
  };
}

/** The option of each setting, and whether it cannot change as long as the node exists. */
const flags: Partial<Record<keyof GivenSettings, { flag: keyof UpOptions; needsNewNode?: true }>> = {
  manifests: { flag: 'manifests' },
  nats: { flag: 'nats', needsNewNode: true },
  hub: { flag: 'hub' },
  containerd: { flag: 'containerd', needsNewNode: true },
  kubeconfig: { flag: 'kubeconfig', needsNewNode: true },
  api: { flag: 'api', needsNewNode: true },
  config: { flag: 'config' },
  network: { flag: 'network' },
  publish: { flag: 'publish' },
  registries: { flag: 'registry' },
  registryHosts: { flag: 'registryHosts', needsNewNode: true },
  elsewhere: { flag: 'elsewhere' },
  placement: { flag: 'placement' },
  observatory: { flag: 'observatory' },
  faults: { flag: 'faults' },
  journal: { flag: 'journal' },
  instances: { flag: 'scale' },
  logLevel: { flag: 'logLevel' },
};

/** Of the settings that the options mean, those whose option was given. @param isGiven whether an option was, by its attribute's name */
export function explicitSettings(options: UpOptions, isGiven: (attribute: keyof UpOptions) => boolean): GivenSettings {
  const all = settingsOf(options);
  const given = Object.entries(flags).filter(([, { flag }]) => isGiven(flag));
  const hubCa = isGiven('hub') ? { hubCa: all.hubCa } : {};
  return { ...Object.fromEntries(given.map(([key]) => [key, all[key as keyof GivenSettings]])), ...hubCa };
}

/** Where a node does not have the given settings. */
export function changesOf(kept: NodeSettings, given: GivenSettings): SettingChange[] {
  return Object.entries(flags).flatMap(([name, { flag, needsNewNode = false }]) => {
    const key = name as keyof GivenSettings;
    const now = merged(kept, given)[key];
    if (!(key in given) || (shown(kept[key]) === shown(now) && isSameConfig(kept[key], now))) return [];
    const long = flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    // Its containers are in the network namespace in which they were started.
    const leaves = key === 'network' && [kept.network, now].includes('host');
    return [{ flag: `--${long}`, has: shown(kept[key]), needsNewNode: needsNewNode || leaves }];
  });
}

/** The settings of a node after they were given; what was not given stays. */
export function merged(kept: NodeSettings, given: GivenSettings): NodeSettings {
  const instances = { ...kept.instances, ...given.instances };
  return { ...kept, ...(given as Partial<NodeSettings>), instances };
}

/** Whether both are no configuration, or have the same content: the file may have changed. */
function isSameConfig(one: Setting, other: Setting): boolean {
  return !isConfig(one) || !isConfig(other) || isDeepEqual(one.patches, other.patches);
}

function isConfig(value: Setting): value is NonNullable<NodeSettings['config']> {
  return typeof value === 'object' && 'patches' in value && 'file' in value;
}

function shown(value: Setting): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'none';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.toSorted().join(', ');
  if (typeof value === 'string') return value;
  if (isConfig(value)) return value.file;
  const several = Object.entries<number | readonly string[]>(value).filter(([, count]) => count !== 1);
  return several.length === 0
    ? 'one of each'
    : several
        .map(([service, count]) => `${service}=${String(count)}`)
        .sort()
        .join(', ');
}
