export { Bus, type BusOptions, UndeclaredError } from './bus.ts';
export type { CommandResult, FencingToken } from './command-client.ts';
export {
  type CommandContext,
  type CommandEntry,
  CommandServer,
  type CommandServerOptions,
  type CommandWindow,
} from './command-server.ts';
export { CommandFailed, CommandRefused, PeerRestarted, arrivedSchema, failureSchema } from './command.ts';
export {
  type Cause,
  type Envelope,
  HEADER,
  withStartTime,
  decodeEnvelope,
  formatCause,
  formatTime,
  parseCause,
  parseTime,
} from './envelope.ts';
export { DirectDelivery, type DirectDeliveryOptions, type Delivery } from './direct/direct-delivery.ts';
export { followShares } from './direct/follow-shares.ts';
export type { FactOwner } from './fact-owner.ts';
export { type Fact, type FactHandlers, FactReader, completionSchema } from './fact-reader.ts';
export { MessageCosts } from './message-costs.ts';
export { Publisher, type PublisherId } from './publisher.ts';
export { Refusals } from './refusals.ts';
export type { StoredMessage } from './stored-message.ts';
export { withPayload } from './payload.ts';
export { type FactListener, type FactMessage, MessageTooLarge, type Transport, type WireMessage } from './transport.ts';
