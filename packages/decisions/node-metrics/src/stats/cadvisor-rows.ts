import type { Labels } from '@kubus/metrics';
import type { CgroupReading, NetworkReading, NodeReading } from './reading.ts';
import type { RowLabels } from './row-labels.ts';

/** A cgroup as shown by /metrics/cadvisor. */
export interface Row {
  readonly labels: Labels;
  readonly reading: CgroupReading;
  readonly network: NetworkReading | undefined;
}

interface Names {
  readonly container?: string;
  readonly image?: string;
  /** The runtime's id. */
  readonly name?: string;
  readonly namespace?: string;
  readonly pod?: string;
}

/**
 * The cgroups of the node, of programs that are not pods, and of the tiers, and for each pod its own cgroup and those of its sandbox and containers. Rows of a pod and a
 * sandbox have no container name; those that do not belong to a pod have no names at all.
 */
export function cadvisorRows({ root, tiers, system = [], network, pods }: NodeReading, known: RowLabels): Row[] {
  known.next();
  const labelled = (reading: CgroupReading, names: Names) => known.row(reading.path, labelsOf(reading, names));
  const rows: Row[] = [{ labels: labelled(root, {}), reading: root, network }];
  const others = new Map([...system.map(({ cgroup }) => cgroup), ...tiers].map((reading) => [reading.path, reading]));
  // Programs may share a cgroup, or have none of their own.
  others.delete(root.path);
  for (const reading of others.values()) rows.push({ labels: labelled(reading, {}), reading, network: undefined });
  for (const pod of pods) {
    const { namespace, name } = pod.ref;
    const add = (reading: CgroupReading | undefined, names: Names, shown?: NetworkReading) => {
      if (reading === undefined) return;
      rows.push({ labels: labelled(reading, { namespace, pod: name, ...names }), reading, network: shown });
    };
    add(pod.cgroup, {});
    add(pod.sandbox?.cgroup, { name: pod.sandbox?.id ?? '' }, pod.network);
    for (const container of pod.containers) {
      add(container.cgroup, { container: container.name, image: container.image, name: container.id });
    }
  }
  return rows;
}

function labelsOf({ path }: CgroupReading, names: Names): Labels {
  const { container = '', image = '', name = '', namespace = '', pod = '' } = names;
  return { container, id: path, image, name, namespace, pod };
}
