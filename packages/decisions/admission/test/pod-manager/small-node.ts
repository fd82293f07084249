import type { AdmissionNode } from '../../src/admission-node.ts';
import type { IdPool } from '../../src/index.ts';

/** A node for three pods. */
export const node: AdmissionNode = {
  name: 'node0',
  labels: {},
  taints: [],
  allocatable: { cpu: '2', memory: '1Gi', pods: '3' },
  sysctls: [],
  appArmor: false,
  strictSupplementalGroups: false,
};

/** Ids for the user namespaces of four pods. */
export const ids: IdPool = { first: 65_536, count: 4 * 65_536, idsPerPod: 65_536 };
