export { cores } from './cores.ts';
export { readJsonLines } from './json-lines.ts';
export { type Cores } from './replay-life.ts';
export { type ReplayOptions, replay, replayFile } from './replay.ts';
export { type StoredMessage } from './recording.ts';
export type { Change, Difference, LifeReport, ToldMessage } from './report.ts';
