import type { TopologyRefusal } from '@kubus/causality';
import { formatTable } from '../output/table.ts';

const WHO: Readonly<Record<string, string>> = {
  topology: 'the topology manager',
  cpu: 'the CPU manager',
  memory: 'the memory manager',
};

/** What was refused, by whom, the hints of each provider, and what they make together. */
export function refusalText({ reason, message, by, merge }: TopologyRefusal): string {
  const said = `refused by ${WHO[by ?? ''] ?? 'the device manager'}: ${reason}: ${message}`;
  if (merge === undefined) return said;
  const { container, policy, resources, nodes, preferred } = merge;
  const rows = resources.map(({ resource, hints, leftOut = 0 }) => [resource, hintsText(hints, leftOut)]);
  const best = nodes === undefined ? 'any' : `nodes ${nodes}`;
  const verdict = preferred
    ? 'preferred'
    : 'not preferred: not all resources come from these nodes at their least number';
  return [
    said,
    `of ${container === undefined ? 'the pod as a whole' : `container ${container}`}, policy ${policy}`,
    '',
    formatTable(['RESOURCE', 'NUMA NODES THAT HAVE IT (* no fewer would do)'], rows),
    '',
    `best of all combinations: ${best}, ${verdict}`,
  ].join('\n');
}

type Hints = NonNullable<TopologyRefusal['merge']>['resources'][number]['hints'];

function hintsText(hints: Hints, leftOut: number): string {
  if (hints === undefined) return 'any';
  if (hints.length === 0) return 'none';
  const sets = hints.map(({ nodes, preferred }) => `${nodes}${preferred ? '*' : ''}`);
  return [...sets, ...(leftOut > 0 ? [`and ${leftOut} more`] : [])].join('  ');
}
