export { HarnessError } from './errors.ts';
export { EventLog, type LabelledRuns } from './event-log.ts';
export { type ContainerRuns, type RuntimeEvent, containerOf, containerRuns, parseEvents } from './runtime-events.ts';
export { testCache, testImages } from './test-cache.ts';
export { sweepTestFolders } from './test-folder.ts';
export { type RuntimeOptions, type TestRuntime, startRuntime } from './test-runtime.ts';
