export { cores } from './cores.ts';
export { readJsonLines } from './json-lines.ts';
export { type Cores } from './replay-life.ts';
export { replay, replayFile } from './replay.ts';
export { type StoredMessage } from './recording.ts';
export type { Difference, LifeReport, ReplayedMessage } from './report.ts';
