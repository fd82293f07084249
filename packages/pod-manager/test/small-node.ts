import type { AdmissionNode } from '@kubus/admission';

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
