export { Bus, type BusOptions, type Heard, UndeclaredError } from './bus.ts';
export type { CommandResult, Hold } from './command-client.ts';
export {
  type CommandContext,
  type CommandEntry,
  type CommandHandler,
  CommandServer,
  type CommandServerOptions,
  type CommandWindow,
  FencedOff,
} from './command-server.ts';
export { CommandFailed, CommandRefused, type CommandStatus, PeerRestarted, failureSchema } from './command.ts';
export {
  type Cause,
  type Envelope,
  EnvelopeError,
  HEADER,
  begunAt,
  decodeEnvelope,
  formatCause,
  formatTime,
  parseCause,
  parseTime,
} from './envelope.ts';
export type { FactOwner, FactPutOptions } from './fact-owner.ts';
export { type Fact, type FactHandlers, FactReader, completionSchema } from './fact-reader.ts';
export { Publisher, type Speaker } from './publisher.ts';
export { Refusals } from './refusals.ts';
export type { FactListener, Transport, WireMessage } from './transport.ts';
