export { MachineError } from './machine-error.ts';
export { readMachine } from './read-machine.ts';
