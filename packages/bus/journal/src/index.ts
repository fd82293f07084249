export { type Calls, type Core, type CorePorts, type RunningCore, type StopCall, callByName, runCore } from './core.ts';
export { type Item, itemSchema } from './items.ts';
export { type Outside, type Shape, asyncRecords, tapedOutside } from './outside.ts';
export { JournalingInstance } from './journaling-instance.ts';
export { Recorder } from './recorder.ts';
export { type Arrival, type Effect, type Tape } from './tape.ts';
export { tapedClock, tapedIds } from './taped-clock.ts';
export { TapedTransport } from './taped-transport.ts';
export { pack, unpack } from './values.ts';
