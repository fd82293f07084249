import type { DensityDocument } from '@kubus/contracts/observatory';
import type { DatabaseSync } from 'node:sqlite';
import { NO_SERVICE, SLOT_MS } from './schema.ts';

/**
 * How many messages each service published over time, in at most so many buckets. Wide buckets are multiples of slots, whose
 * counts are stored; narrow ones are counted message by message.
 */
export function readDensity(database: DatabaseSync, buckets: number): DensityDocument {
  const { first, last } =
    database.prepare('SELECT (SELECT min(at) FROM messages) AS first, (SELECT max(at) FROM messages) AS last').get() ??
    {};
  if (typeof first !== 'number' || typeof last !== 'number') return { from: 0, to: 0, bucketMs: SLOT_MS, services: [] };
  const exact = Math.max((last - first) / buckets, 0.001);
  const bySlot = exact >= SLOT_MS;
  // One more bucket than requested would be needed if the first slot starts before the first message.
  const bucketMs = bySlot ? Math.ceil((last - first + SLOT_MS) / buckets / SLOT_MS) * SLOT_MS : exact;
  const from = bySlot ? Math.floor(first / SLOT_MS) * SLOT_MS : first;
  const rows = bySlot
    ? database.prepare(
        `SELECT service, CAST((slot * ${SLOT_MS} - ?) / ? AS INTEGER) AS bucket, sum(messages) AS messages
         FROM slots GROUP BY service, bucket`,
      )
    : database.prepare(
        `SELECT coalesce(s.service, '${NO_SERVICE}') AS service, CAST((m.at - ?) / ? AS INTEGER) AS bucket,
         count(*) AS messages FROM messages m LEFT JOIN speakers s ON s.id = m.speaker GROUP BY service, bucket`,
      );
  const counts = new Map<string, number[]>();
  for (const { service, bucket, messages } of rows.iterate(from, bucketMs)) {
    const row = counts.get(String(service)) ?? new Array<number>(buckets).fill(0);
    const index = Math.min(buckets - 1, Math.max(0, Number(bucket)));
    row[index] = (row[index] ?? 0) + Number(messages);
    counts.set(String(service), row);
  }
  const services = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([service, row]) => ({ service, counts: row }));
  return { from, to: Math.max(last, from + bucketMs * buckets), bucketMs, services };
}
