import { type ServiceName, callerOf, keyOf, replySubject } from '@kubus/contracts';
import { type CommandNumber, parseCommandNumber } from './command.ts';
import { type Envelope, EnvelopeError, HEADER, decodeEnvelope } from './envelope.ts';
import type { WireMessage } from './transport.ts';

/** A command, as its subject and headers describe it. */
export interface ReceivedCommand {
  readonly key: string;
  readonly envelope: Envelope;
  readonly number: CommandNumber;
  /** The epoch of the server that is to run it. */
  readonly serverEpoch: number;
  /** Where its sender reads the replies. */
  readonly replies: string;
}

/**
 * Reads a command for `server`. Its sender is the instance that the subject names, because the broker lets an identity send commands only
 * under its own name, and only the replies of that instance are answered to: on another subject, the server would speak for the sender with
 * its own permissions, to the broker itself for example. A copy of an earlier command that a consumer delivers has another reply subject.
 *
 * @param at when it was delivered, in milliseconds since the Unix epoch
 * @throws EnvelopeError naming what is missing or does not fit
 */
export function readCommand(message: WireMessage, node: string, server: ServiceName, at: number): ReceivedCommand {
  const { subject, headers, reply } = message;
  const envelope = decodeEnvelope(headers, at);
  const caller = callerOf(subject);
  if (caller === undefined) throw new EnvelopeError('no-caller', `the subject does not name who sends the command`);
  if (caller.instance !== envelope.source) {
    throw new EnvelopeError('other-source', `a command of ${caller.instance} says that it is of ${envelope.source}`);
  }
  const key = keyOf(subject);
  const replies = replySubject(node, caller, key, server);
  if (reply !== replies) {
    throw new EnvelopeError('other-reply', `the reply subject is not that of ${caller.instance}: ${reply ?? 'none'}`);
  }
  const epoch = headers[HEADER.server] ?? '';
  if (!/^\d+$/.test(epoch)) {
    throw new EnvelopeError('bad-envelope', `header ${HEADER.server} is not an epoch: ${epoch || 'none'}`);
  }
  return { key, envelope, number: parseCommandNumber(headers[HEADER.command]), serverEpoch: Number(epoch), replies };
}
