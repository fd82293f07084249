import { formatQuantity, parseQuantity } from '@kubus/contracts';
import { type Json, asList, asText, at } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { Column } from './columns.ts';

/** The columns of what nodes and pods use. Source: metrics-server, pkg/api/table.go. */
const columns: readonly Column[] = [
  { name: 'Name', format: 'name', cell: ({ metadata }) => metadata.name },
  { name: 'cpu', format: 'quantity', cell: used('cpu') },
  { name: 'memory', format: 'quantity', cell: used('memory') },
  { name: 'Window', format: 'duration', cell: ({ window }) => asText(window) },
];

export const usageColumns: Readonly<Record<string, readonly Column[]>> = { NodeMetrics: columns, PodMetrics: columns };

/** Of a node, or of all containers of a pod. */
function used(resource: 'cpu' | 'memory'): (object: KubeObject) => Json {
  return ({ usage, containers }) => {
    const parts = usage === undefined ? asList(containers).map((one) => at(one, 'usage')) : [usage];
    const nano = parts.reduce<bigint>((sum, part) => sum + (parseQuantity(asText(at(part, resource)))?.nano ?? 0n), 0n);
    return formatQuantity({ nano, format: resource === 'cpu' ? 'DecimalSI' : 'BinarySI' });
  };
}
