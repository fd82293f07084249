export { proberCore } from './core.ts';
export { Prober } from './prober.ts';
export { probeRecordSchema } from './result-keeper.ts';
export { prober } from './service.ts';
