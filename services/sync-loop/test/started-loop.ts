import { wholePool } from '@kubus/admission';
import type { FactOwner } from '@kubus/bus';
import type { LocalBroker } from '@kubus/bus/testing';
import {
  type Pod,
  type RuntimePod,
  configuredSources,
  desiredPods,
  runtimeCondition,
  runtimePod,
} from '@kubus/contracts';
import { type Clock, silentLogger } from '@kubus/ports';
import { MemoryRecords, settled } from '@kubus/ports/testing';
import { SyncLoop, type SyncLoopOptions } from '../src/sync-loop.ts';

export const NODE = 'node0';

export interface LoopOptions extends Partial<Pick<SyncLoopOptions, 'shutdown' | 'records'>> {
  /** Of its process. Default: 1. */
  readonly epoch?: number;
  /** What of the node containers can have for themselves. Default: nothing. */
  readonly exclusive?: SyncLoopOptions['node']['exclusive'];
}

/** A sync loop with manifests of these pods and a runtime that is ready and has nothing yet. */
export async function startLoop(
  broker: LocalBroker,
  clock: Clock,
  pods: readonly Pod[],
  { epoch, exclusive, records = new MemoryRecords(), ...more }: LoopOptions = {},
): Promise<{ loop: SyncLoop; states: FactOwner<RuntimePod>; add: (pod: Pod) => void }> {
  const sources = broker.join('config-sources', clock).bus;
  sources.owner(configuredSources).put(NODE, { sources: ['file'] });
  const files = sources.owner(desiredPods.file);
  const add = (pod: Pod) => void files.put(pod.metadata.uid, { operation: 'ADD', source: 'file', pod });
  for (const pod of pods) add(pod);
  files.complete();
  const bridge = broker.join('cri-bridge', clock).bus;
  const states = bridge.owner(runtimePod);
  states.complete();
  const ready = { ready: true, name: 'containerd', networkReady: true };
  bridge.owner(runtimeCondition).put('runtime', { ...ready, network: 'runtime', events: 'containerd' });
  const loop = await SyncLoop.start({
    ...{ bus: broker.join('sync-loop', clock, epoch).bus, clock, logger: silentLogger, records },
    node: {
      ...{ name: NODE, labels: {}, taints: [], sysctls: [], appArmor: false, strictSupplementalGroups: false },
      allocatable: { cpu: '2', memory: '4Gi', pods: '10' },
      ...(exclusive !== undefined && { exclusive }),
    },
    ids: wholePool(65_536),
    workers: { instances: ['pod-workers-0'], term: 0 },
    ...more,
  });
  await settled();
  return { loop, states, add };
}
