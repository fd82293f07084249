export { ExclusiveStateError } from './exclusive-state-error.ts';
export { ExclusiveState } from './exclusive-state.ts';
