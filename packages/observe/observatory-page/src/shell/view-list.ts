import type { View } from '../route/route.ts';

/** A view that can be opened, from the list on the left or with `g` and a letter. */
export interface ViewEntry {
  readonly view: View;
  readonly title: string;
  readonly key: string;
  readonly about: string;
}

export const viewList: readonly ViewEntry[] = [
  { view: 'overview', title: 'Overview', key: 'o', about: 'messages over time, pods, services' },
  { view: 'pods', title: 'Pods', key: 'p', about: 'the timeline of one pod' },
  { view: 'messages', title: 'Messages', key: 'm', about: 'every message, filtered' },
  { view: 'map', title: 'Map', key: 'a', about: 'which service sends what to which' },
  { view: 'latency', title: 'Latency', key: 'l', about: 'how long starts and stops took' },
  { view: 'compare', title: 'Compare', key: 'c', about: 'two recordings or pods side by side' },
  { view: 'topology', title: 'Topology', key: 'n', about: 'NUMA nodes, CPUs and devices, and who has them' },
  { view: 'pressure', title: 'Pressure', key: 'e', about: 'what the node has left, and which pods would go' },
  { view: 'recordings', title: 'Recordings', key: 'r', about: 'start, stop, download, upload' },
  { view: 'faults', title: 'Faults', key: 'f', about: 'inject faults into messages and services' },
  { view: 'contract', title: 'Contract', key: 't', about: 'every type of message with its schema' },
];
