import { type ResourceList, isExtendedResource } from '@kubus/contracts';
import { CONTROLLER_ATTACHES } from './initial-node.ts';
import type { NodeObject } from './node-object.ts';
import { isHugePages } from './resources.ts';

/** Labels that the node sets itself: those of {@link initialNode}, where it has them (behaviour:node-object, Register). */
const OWN_LABELS = [
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
];

/**
 * An existing Node object with the node's own labels and annotation, and the huge page sizes of the machine.
 * Changes that others have made to it are kept.
 *
 * @param initial the Node object that would be created, with its status
 * @param recreated the machine is not the one that the Node object describes: nothing is known about its devices
 */
export function reconciled(existing: NodeObject, initial: NodeObject, recreated: boolean): NodeObject {
  const { capacity = initial.status.capacity ?? {}, allocatable = initial.status.allocatable ?? {} } = existing.status;
  const resources = (list: ResourceList, from: ResourceList = {}) =>
    withHugePages(recreated ? withoutDevices(list) : list, from);
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: { ...existing.metadata.labels, ...ownLabels(initial) },
      annotations: withAnnotation(existing, initial),
    },
    status: {
      ...existing.status,
      capacity: resources(capacity, initial.status.capacity),
      allocatable: resources(allocatable, initial.status.allocatable),
    },
  };
}

function ownLabels({ metadata: { labels = {} } }: NodeObject): Record<string, string> {
  return Object.fromEntries(OWN_LABELS.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]])));
}

function withAnnotation(existing: NodeObject, initial: NodeObject): Record<string, string> {
  const { [CONTROLLER_ATTACHES]: _, ...others } = existing.metadata.annotations ?? {};
  const wanted = initial.metadata.annotations?.[CONTROLLER_ATTACHES];
  return wanted === undefined ? others : { ...others, [CONTROLLER_ATTACHES]: wanted };
}

/** Extended resources are set to zero until their device plugins have registered again. */
function withoutDevices(list: ResourceList): ResourceList {
  return Object.fromEntries(Object.entries(list).map(([name, has]) => [name, isExtendedResource(name) ? '0' : has]));
}

/** Removes huge page sizes that the machine no longer has. */
function withHugePages(list: ResourceList, from: ResourceList): ResourceList {
  const others = Object.entries(list).filter(([name]) => !isHugePages(name));
  const present = Object.entries(from).filter(([name]) => isHugePages(name));
  return Object.fromEntries([...others, ...present]);
}
