export { proberCore } from './core.ts';
export { type ProbeCount, Prober, type ProberOptions } from './prober.ts';
export { probeRecordSchema } from './result-keeper.ts';
export { prober } from './service.ts';
