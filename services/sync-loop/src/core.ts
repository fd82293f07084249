import { type Core, asyncRecords } from '@kubus/journal';
import { SyncLoop, type SyncLoopOptions } from './sync-loop.ts';

type SyncLoopInputs = Pick<SyncLoopOptions, 'node' | 'inCluster' | 'ids' | 'workers' | 'shutdown'>;

/** The whole sync loop: its decisions depend only on its ports. */
export const syncLoopCore: Core<SyncLoopInputs, Pick<SyncLoopOptions, 'records'>, SyncLoop> = {
  service: 'sync-loop',
  outside: { records: asyncRecords },
  start: (ports, inputs, outside) => SyncLoop.start({ ...ports, ...inputs, ...outside }),
  calls: (loop) => ({
    stop: () => {
      loop.stop();
      return Promise.resolve();
    },
  }),
};
