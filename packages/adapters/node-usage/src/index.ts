export { KernelLog } from './kernel-log.ts';
export { NodeSignals, type SignalReading } from './node-signals.ts';
export { NodeStatistics } from './node-statistics.ts';
