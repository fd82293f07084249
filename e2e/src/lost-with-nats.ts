import type { StoredMessage } from '@kubus/bus';
import { recordedMessage } from '@kubus/causality';
import { bareType, serviceInstance, typeOf } from '@kubus/contracts';
import type { Outage } from './kill-stories.ts';

/** A recorded message of one publisher in one epoch. */
interface Recorded {
  readonly number: number;
  /** When it was published, and when the broker had stored it, milliseconds since the Unix epoch. */
  readonly at: number;
  readonly stored: number;
  /** The publisher says that it is connected. */
  readonly isConnected: boolean;
}

const ANNOUNCEMENT = bareType(typeOf(serviceInstance));

/**
 * Returns a function that decides whether a message that is not recorded was lost with NATS: published while NATS was being killed
 * or was away. Then its publisher's previous message was published before it was connected to NATS again, and its next one was stored after
 * the kill. On a busy machine a publisher may notice late that its connection has ended; what it has published until then is lost.
 */
export function lostWithNats(messages: readonly StoredMessage[], outages: readonly Outage[]): (id: string) => boolean {
  const lives = new Map<string, Recorded[]>();
  for (const { message, stored } of messages) {
    const recorded = recordedMessage(message);
    if (recorded === undefined) continue;
    const { life, number } = partsOf(recorded.envelope.cause.id);
    const said = lives.get(life) ?? [];
    lives.set(life, said);
    const isConnected = bareType(recorded.envelope.type) === ANNOUNCEMENT;
    said.push({ number, at: recorded.at, stored, isConnected });
  }
  return (id) => {
    const { life, number } = partsOf(id);
    const said = lives.get(life) ?? [];
    const before = Math.max(0, ...said.filter((one) => one.number < number).map(({ at }) => at));
    const after = Math.min(Infinity, ...said.filter((one) => one.number > number).map(({ stored }) => stored));
    const connected = (since: number) =>
      Math.min(Infinity, ...said.filter((one) => one.isConnected && one.stored > since).map(({ stored }) => stored));
    return outages.some(({ from, to }) => before <= Math.max(to, connected(from)) && from <= after);
  };
}

/** `<source>.<epoch>.<number>` */
function partsOf(id: string): { life: string; number: number } {
  const end = id.lastIndexOf('.');
  return { life: id.slice(0, end), number: Number(id.slice(end + 1)) };
}
