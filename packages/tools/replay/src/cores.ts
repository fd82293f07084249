import { configSourcesCore } from '@kubus/config-sources';
import { podWorkersCore } from '@kubus/pod-workers';
import { proberCore } from '@kubus/prober';
import { statusManagerCore } from '@kubus/status-manager';
import { syncLoopCore } from '@kubus/sync-loop';
import type { Cores } from './replay-life.ts';

/** The cores of the services that keep journals. */
export const cores: Cores = {
  'config-sources': configSourcesCore,
  'sync-loop': syncLoopCore,
  'pod-workers': podWorkersCore,
  prober: proberCore,
  'status-manager': statusManagerCore,
};
