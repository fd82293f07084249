export type { LogView } from './log-output.ts';
export { type FollowOptions, followLog, printLog } from './print-log.ts';
