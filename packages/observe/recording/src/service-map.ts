import { type CountedMessages, type PublishedCount, RATE_MS, type ReceivedCount, payloadOf } from '@kubus/causality';
import { serviceInstance, serviceInstanceSchema, typeOf } from '@kubus/contracts';
import type { MapService, MessageKind } from '@kubus/contracts/observatory';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';

/** The data of the service map. */
export function readCounts(database: DatabaseSync): CountedMessages {
  const newest = 'SELECT at FROM messages WHERE speaker IS NOT NULL ORDER BY at DESC LIMIT 1';
  const last = Number(database.prepare(newest).get()?.['at'] ?? 0);
  return {
    published: database
      .prepare('SELECT service, t.type, kind, messages FROM said JOIN types t ON t.id = said.type')
      .all()
      .map(publishedOf),
    lately: database
      .prepare(
        `SELECT s.service, t.type, t.kind, count(DISTINCT m.speaker || '.' || m.number) AS messages
         FROM messages m JOIN speakers s ON s.id = m.speaker JOIN types t ON t.id = m.type
         WHERE m.at > ? GROUP BY s.service, m.type`,
      )
      .all(last - RATE_MS)
      .map(publishedOf),
    received: database
      .prepare('SELECT t.type, service, us, messages FROM bus JOIN types t ON t.id = bus.type')
      .all()
      .map(receivedOf),
    instances: readInstances(database),
  };
}

type Row = Record<string, SQLOutputValue>;

function publishedOf({ service, type, kind, messages }: Row): PublishedCount {
  const published = { service: String(service), type: String(type), kind: String(kind) as MessageKind };
  return { ...published, messages: Number(messages) };
}

function receivedOf({ type, service, us, messages }: Row): ReceivedCount {
  return { type: String(type), service: String(service), ms: Number(us) / 1000, messages: Number(messages) };
}

/** The last announcement of each instance. An announcement that is stored again keeps its time. */
function readInstances(database: DatabaseSync): Map<string, MapService['instances']> {
  const rows = database.prepare(
    `SELECT service, source, max(first), data FROM
       (SELECT s.service, s.source, min(m.seq) AS first FROM messages m JOIN speakers s ON s.id = m.speaker
        WHERE m.type IN (SELECT id FROM types WHERE type = ?) GROUP BY m.speaker, m.number)
     JOIN bodies ON bodies.seq = first GROUP BY source ORDER BY source`,
  );
  const instances = new Map<string, MapService['instances'][number][]>();
  for (const { service, source, data } of rows.iterate(typeOf(serviceInstance))) {
    const instance = serviceInstanceSchema.safeParse(payloadOf({ data: String(data) }));
    if (!instance.success) continue;
    const { epoch, startedAt } = instance.data;
    const one = { instance: String(source), epoch, startedAt };
    instances.set(String(service), [...(instances.get(String(service)) ?? []), one]);
  }
  return instances;
}
