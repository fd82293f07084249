export { LogUnavailable, bareContainerId, chooseRun } from './choose-run.ts';
export { type LogEntry, type LogStream, parseLogEntry, splitLines } from './log-entry.ts';
export { LineJoiner, type LogLine } from './line-joiner.ts';
export { type RotatedLog, attemptOfLog, planRotation, rotatedLogs } from './rotation.ts';
