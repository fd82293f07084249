import { cgroupsGroup } from './cgroups.ts';
import type { Group } from './group.ts';
import { killGroup } from './kill.ts';
import { memoryGroup } from './memory.ts';
import { nodeGroup } from './node.ts';
import { rebootGroup } from './reboot.ts';
import { scenariosGroup } from './scenarios.ts';
import { shutdownGroup } from './shutdown.ts';
import { unitGroup } from './unit.ts';

/** Every group, in the order in which they run. */
export const groups: readonly Group[] = [
  nodeGroup,
  cgroupsGroup({ driver: 'systemd', containerd: '2' }),
  cgroupsGroup({ driver: 'systemd', containerd: '1' }),
  cgroupsGroup({ driver: 'cgroupfs', containerd: '2' }),
  cgroupsGroup({ driver: 'cgroupfs', containerd: '1' }),
  unitGroup,
  memoryGroup,
  rebootGroup,
  shutdownGroup,
  killGroup,
  scenariosGroup({ driver: 'cgroupfs', containerd: '2' }),
  scenariosGroup({ driver: 'cgroupfs', containerd: '1' }),
];
