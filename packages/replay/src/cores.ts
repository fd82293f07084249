import { syncLoopCore } from '@kubus/sync-loop';
import type { Cores } from './replay-life.ts';

/** The cores of the services that keep journals. */
export const cores: Cores = { 'sync-loop': syncLoopCore };
