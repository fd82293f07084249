import type { IdPool } from '@kubus/admission';
import { ID_UNIT } from '@kubus/contracts';
import { NODE } from './simulated-process.ts';

/** The owner of the pods until the launcher has published the share. */
export const ALONE = { instances: ['pod-workers-0'], term: 0 };

/** The network's configuration. */
export const NETWORK = {
  name: '10-pods.conflist',
  content: JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'bridge' }] }),
};

/** What is known of the node at its start. */
export const NODE_FACTS = {
  name: NODE,
  labels: {},
  taints: [],
  sysctls: [],
  appArmor: false,
  strictSupplementalGroups: false,
};

/** User namespaces for slightly more pods than exist at a time, so that those of removed pods are used again. */
export const FEW_IDS: IdPool = { first: ID_UNIT, count: 5 * ID_UNIT, idsPerPod: ID_UNIT };
