export { isDeepEqual } from './deep-equal.ts';
export { expandVariables } from './expand-variables.ts';
export { fnv128a } from './fnv.ts';
export { formatGoDuration, parseGoDuration } from './go-duration.ts';
export { isSameRuntimeState } from './runtime-state.ts';
export { logFolder, logFolderExcess } from './log-folder.ts';
export { type QosClass, qosClass } from './qos-class.ts';
export { timeNanos, timeOfMs, timeOfNanos } from './rfc3339.ts';
export { SYSTEM_PRIORITY, isCritical, isMirror, isNodeCritical, isStatic, mirrorOf } from './static-and-critical.ts';
