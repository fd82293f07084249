import type { DensityDocument } from '@kubus/observatory-api';
import type { DatabaseSync } from 'node:sqlite';
import { NO_SERVICE, SLOT_MS } from './schema.ts';

/**
 * How many messages each service published over time, in at most so many buckets. Wide buckets are whole numbers of slots,
 * which are counted already; narrow ones are counted message by message.
 */
export function readDensity(database: DatabaseSync, buckets: number): DensityDocument {
  const { first, last } =
    database.prepare('SELECT (SELECT min(at) FROM messages) AS first, (SELECT max(at) FROM messages) AS last').get() ??
    {};
  if (typeof first !== 'number' || typeof last !== 'number') return { from: 0, to: 0, bucketMs: SLOT_MS, services: [] };
  const exact = Math.max((last - first) / buckets, 0.001);
  const bySlot = exact >= SLOT_MS;
  // One bucket more than asked would be needed where the first slot begins before the first message.
  const bucketMs = bySlot ? Math.ceil((last - first + SLOT_MS) / buckets / SLOT_MS) * SLOT_MS : exact;
  const from = bySlot ? Math.floor(first / SLOT_MS) * SLOT_MS : first;
  const counts = new Map<string, number[]>();
  const add = (service: string, at: number, count: number) => {
    const bucket = Math.min(buckets - 1, Math.max(0, Math.floor((at - from) / bucketMs)));
    const row = counts.get(service) ?? new Array<number>(buckets).fill(0);
    row[bucket] = (row[bucket] ?? 0) + count;
    counts.set(service, row);
  };
  const rows = bySlot
    ? database.prepare(`SELECT service, slot * ${SLOT_MS} AS at, messages FROM slots`)
    : database.prepare(
        `SELECT coalesce(s.service, '${NO_SERVICE}') AS service, m.at, 1 AS messages FROM messages m
         LEFT JOIN speakers s ON s.id = m.speaker`,
      );
  for (const { service, at, messages } of rows.iterate()) add(String(service), Number(at), Number(messages));
  const services = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([service, row]) => ({ service, counts: row }));
  return { from, to: Math.max(last, from + bucketMs * buckets), bucketMs, services };
}
