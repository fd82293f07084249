import { HEADER, type StoredMessage, formatTime } from '@kubus/bus';
import { silentLogger } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import { join } from 'node:path';
import { NodeRecordings, type Threads } from '../src/index.ts';

const EPOCH = 1_800_000_000_000;

/** A message as the broker delivers it: `number` is also the sequence, unless another one is given. */
export function message(number: number, parts: { seq?: number; pod?: string; type?: string } = {}): StoredMessage {
  const { seq = number, pod, type = 'sync.fact.pod/1' } = parts;
  const headers: Record<string, string> = {
    [HEADER.type]: type,
    [HEADER.source]: 'sync-loop-0',
    [HEADER.epoch]: '1',
    [HEADER.seq]: String(number),
    [HEADER.time]: formatTime(EPOCH + number),
    [HEADER.node]: 'node0',
    [HEADER.trace]: `00-${'1'.repeat(32)}-${number.toString(16).padStart(16, '0')}-01`,
    ...(pod !== undefined && { [HEADER.pod]: pod }),
    ...(number > 1 && { [HEADER.causes]: `sync-loop-0.1.${number - 1}` }),
  };
  const subject = `kubus.node0.sync.fact.pod.${pod ?? '-'}`;
  return { seq, stored: EPOCH + number + 0.25, message: { subject, headers, data: `{"number":${number}}` } };
}

/** The numbers from `from` to `to`, both included. */
export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** The recordings of a node in a folder, as the service opens them. */
export function openRecordings(
  folder: string,
  threads: Threads,
  limits: { recordingBytes?: number } = {},
): NodeRecordings {
  const all = { liveBytes: 2 ** 28, liveMs: Number.MAX_SAFE_INTEGER, recordingBytes: 2 ** 30, ...limits };
  const ports = { clock: systemClock, ids: systemIds, logger: silentLogger, threads };
  return new NodeRecordings({ ...ports, folder: join(folder, 'state'), node: 'node0', version: '1.0.0', limits: all });
}
