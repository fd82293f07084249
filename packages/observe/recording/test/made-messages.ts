import { HEADER, type StoredMessage, formatTime } from '@kubus/bus';

export interface Made {
  readonly seq: number;
  readonly source?: string;
  readonly epoch?: number;
  readonly number: number;
  readonly at?: number;
  readonly stored?: number;
  readonly pod?: string;
  readonly causes?: readonly string[];
  readonly subject?: string;
  readonly type?: string;
  readonly data?: unknown;
}

/** Time of the first message in tests; milliseconds since the Unix epoch. */
export const EPOCH = 1_800_000_000_000;

/** A message as stored by a node's broker. */
export function made(one: Made): StoredMessage {
  const { seq, number, source = 'sync-loop-0', epoch = 1, pod, causes = [] } = one;
  const { at = EPOCH + seq, stored = at + 0.5, type = 'sync.fact.pod/1', data = {} } = one;
  const subject = one.subject ?? `kubus.node0.sync.fact.pod.${pod ?? '-'}`;
  const headers: Record<string, string> = {
    [HEADER.type]: type,
    [HEADER.source]: source,
    [HEADER.epoch]: String(epoch),
    [HEADER.seq]: String(number),
    [HEADER.time]: formatTime(at),
    [HEADER.node]: 'node0',
    [HEADER.trace]: `00-${'1'.repeat(32)}-${number.toString(16).padStart(16, '0')}-01`,
    ...(pod !== undefined && { [HEADER.pod]: pod }),
    ...(causes.length > 0 && { [HEADER.causes]: causes.join(',') }),
  };
  return { seq, stored, message: { subject, headers, data: JSON.stringify(data) } };
}

/** One without an envelope. */
export function unreadable(seq: number): StoredMessage {
  return { seq, stored: EPOCH + seq, message: { subject: 'kubus.node0.x', headers: {}, data: '' } };
}
