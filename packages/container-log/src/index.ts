export { LogUnavailable, bareContainerId, chooseRun } from './choose-run.ts';
export { type LogEntry, type LogStream, parseLogEntry, splitLines, timeNanos } from './log-entry.ts';
export { LineJoiner, type LogLine } from './line-joiner.ts';
export { type RotatedLog, type RotationPlan, attemptOfLog, planRotation, rotatedLogs } from './rotation.ts';
