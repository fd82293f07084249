export type { LogView } from './log-output.ts';
export { followLog, printLog } from './print-log.ts';
