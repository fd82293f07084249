export { MachineError } from './machine-error.ts';
export { type FoundMachine, readMachine } from './read-machine.ts';
