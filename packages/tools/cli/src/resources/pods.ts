import { formatAge } from '@kubus/pod';
import type { PodColumns } from '@kubus/pod-status';
import { type PodView, Pods, columnsOf, matchesName, podDocument } from '../pods/pods.ts';
import type { ApiObject, Item, ResourceType } from './resource-type.ts';

export const pods: ResourceType = {
  name: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  apiVersion: 'v1',
  kind: 'Pod',
  isNamespaced: true,
  about: 'the pods of the node',
  columns: [
    { title: 'NAME', isName: true },
    { title: 'READY' },
    { title: 'STATUS' },
    { title: 'RESTARTS' },
    { title: 'AGE', isAge: true },
    { title: 'IP', isWide: true },
    { title: 'NODE', isWide: true },
    { title: 'NOMINATED NODE', isWide: true },
    { title: 'READINESS GATES', isWide: true },
  ],
  fields: [
    ...['metadata.name', 'metadata.namespace', 'spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName'],
    ...['spec.serviceAccountName', 'spec.hostNetwork', 'status.phase', 'status.podIP', 'status.nominatedNodeName'],
  ],
  open: async (link, onChange) => {
    const { node } = link.bus;
    const all = await Pods.read(link, onChange);
    return { items: () => all.list(undefined).map((pod) => podItem(pod, node)) };
  },
};

/** A pod with kubectl's cells (pkg/printers/internalversion/printers.go, printPod). */
export function podItem(pod: PodView, node: string): Item {
  const { uid, work, status } = pod;
  return {
    key: uid,
    object: withCreation(pod),
    isNamed: (name) => matchesName(name, work.ref, node),
    cells: (now) => {
      const printed = columnsOf(pod);
      return [
        work.ref.name,
        `${printed.ready}/${printed.total}`,
        printed.status,
        restartsText(printed, now),
        formatAge(now - Date.parse(status?.startTime ?? work.firstSeen)),
        status?.podIP ?? '<none>',
        node,
        '<none>',
        readinessGates(pod),
      ];
    },
  };
}

/** With a time of creation, which static pods do not have: when this node first saw the pod. */
function withCreation(pod: PodView): ApiObject {
  const { metadata, ...rest } = podDocument(pod);
  return { ...rest, metadata: { creationTimestamp: pod.work.firstSeen, ...metadata } };
}

function restartsText({ restarts, restartedAt }: PodColumns, now: number): string {
  if (restarts === 0 || restartedAt === undefined) return String(restarts);
  return `${restarts} (${formatAge(now - Date.parse(restartedAt))} ago)`;
}

/** How many of the pod's readiness gates are met. */
function readinessGates({ work, status }: PodView): string {
  const gates = work.pod?.spec.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const met = gates.filter(({ conditionType }) =>
    status?.conditions?.some((one) => one.type === conditionType && one.status === 'True'),
  );
  return `${met.length}/${gates.length}`;
}
