import { type Core, asyncRecords } from '@kubus/journal';
import { SyncLoop, type SyncLoopOptions } from './sync-loop.ts';

type SyncLoopInputs = Pick<SyncLoopOptions, 'node' | 'inCluster' | 'ids' | 'workers'>;

/** All of the sync loop: what it decides depends on its ports alone. */
export const syncLoopCore: Core<SyncLoopInputs, Pick<SyncLoopOptions, 'records'>, SyncLoop> = {
  service: 'sync-loop',
  outside: { records: asyncRecords },
  start: (ports, inputs, outside) => SyncLoop.start({ ...ports, ...inputs, ...outside }),
  call: (loop) => loop.stop(),
};
