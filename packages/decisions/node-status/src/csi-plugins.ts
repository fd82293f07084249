import type { CsiPlugin } from '@kubus/contracts';
import * as z from 'zod';
import type { NodeObject } from './node-object.ts';

/** The annotation with each driver's own name for the node. */
export const NODE_IDS = 'csi.volume.kubernetes.io/nodeid';

/** The CSI drivers that are registered on the node. */
export interface KnownPlugins {
  readonly plugins: readonly CsiPlugin[];
  /** The list is complete. Until then the Node object keeps its information about drivers. */
  readonly complete: boolean;
}

/** Why a driver cannot be used on the node; undefined: it can be used. */
export function topologyProblem(labels: Readonly<Record<string, string>>, { topology }: CsiPlugin): string | undefined {
  for (const [key, value] of Object.entries(topology)) {
    const label = labels[key];
    if (label !== undefined && label !== value) {
      return `detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${label}"`;
    }
  }
  return undefined;
}

/**
 * The Node object with the information of its drivers: their topology as labels, which are kept when a driver unregisters, and the
 * drivers' names for the node (behaviour:qos-and-cgroups, CSI node).
 */
export function withPlugins(node: NodeObject, known: KnownPlugins): NodeObject {
  if (known.plugins.length === 0 && !known.complete) return node;
  const { labels = {}, annotations = {} } = node.metadata;
  const used = usablePlugins(labels, known.plugins);
  const { [NODE_IDS]: before, ...others } = annotations;
  const ids = nodeIds(before, used, known.complete);
  return {
    ...node,
    metadata: {
      ...node.metadata,
      labels: Object.assign({}, labels, ...used.map(({ topology }) => topology)) as Record<string, string>,
      annotations: { ...others, ...(ids !== undefined && { [NODE_IDS]: ids }) },
    },
  };
}

/** The drivers that contradict neither the Node object nor an earlier driver in the list. */
export function usablePlugins(labels: Readonly<Record<string, string>>, plugins: readonly CsiPlugin[]): CsiPlugin[] {
  const said = { ...labels };
  return plugins
    .toSorted((one, other) => (one.driver < other.driver ? -1 : 1))
    .filter((plugin) => {
      if (topologyProblem(said, plugin) !== undefined) return false;
      Object.assign(said, plugin.topology);
      return true;
    });
}

const idsSchema = z.record(z.string(), z.string());

function nodeIds(before: string | undefined, plugins: readonly CsiPlugin[], complete: boolean): string | undefined {
  const own = Object.fromEntries(plugins.map(({ driver, nodeId }) => [driver, nodeId]));
  const all = { ...(complete ? {} : parsedIds(before)), ...own };
  const names = Object.keys(all).sort();
  return names.length === 0 ? undefined : JSON.stringify(Object.fromEntries(names.map((name) => [name, all[name]])));
}

/** Text that cannot be parsed counts as empty. */
function parsedIds(text: string | undefined): Record<string, string> {
  if (text === undefined) return {};
  try {
    return idsSchema.parse(JSON.parse(text));
  } catch {
    return {};
  }
}
