import { toError } from '@kubus/ports';
import { configError } from './errors.ts';
import { bool } from './kinds.ts';

/** The values of topologyManagerPolicyOptions (behaviour:resource-managers, Topology). */
export interface TopologyOptions {
  /** Of several sets with the same number of NUMA nodes, the one with the shortest distances is the best. */
  readonly preferClosest: boolean;
  /** A machine with more NUMA nodes is refused, because every set of them is examined. */
  readonly mostNodes: number;
}

const PREFER_CLOSEST = 'prefer-closest-numa-nodes';
const MOST_NODES = 'max-allowable-numa-nodes';
/** Also the minimum value of the option. */
const USUAL_NODES = 8;

/** Throws a KubeletConfigError with the reference's text when an option is unknown or has an invalid value. */
export function topologyOptions(options: Readonly<Record<string, string>>): TopologyOptions {
  const unknown = Object.keys(options).find((name) => name !== PREFER_CLOSEST && name !== MOST_NODES);
  if (unknown !== undefined) throw configError(`unknown Topology Manager Policy option: ${JSON.stringify(unknown)}`);
  const { [PREFER_CLOSEST]: closest = 'false', [MOST_NODES]: most = String(USUAL_NODES) } = options;
  return { preferClosest: preferred(closest), mostNodes: atLeast(most) };
}

function preferred(text: string): boolean {
  try {
    return bool.parse([text]);
  } catch (error) {
    throw configError(`bad value for option "${PREFER_CLOSEST}": ${toError(error).message}`);
  }
}

function atLeast(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) {
    const problem = `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
    throw configError(`unable to convert policy option to integer "${MOST_NODES}": ${problem}`);
  }
  const most = Number(text);
  if (most >= USUAL_NODES) return most;
  throw configError(`the minimum value of "${MOST_NODES}" should not be less than ${USUAL_NODES}`);
}
