import { type ServiceName, serviceNames } from '@kubus/contracts';
import { type NatsConnection, PermissionViolationError } from '@nats-io/nats-core';
import type { TestNatsServer } from '../src/testing.ts';
import type { Probe } from './permission-probes.ts';

/** How many subjects are tried before what the server has refused is read: it ends the connection of a client that does not read for 10 s. */
const AT_ONCE = 200;

/**
 * Tries every probe with every identity on a server without streams, publishing and subscribing. Returns each case in
 * which the broker deviates from the rule, as `sync-loop may publish SUBJECT`.
 */
export async function audit(
  server: TestNatsServer,
  probes: readonly Probe[],
  services: readonly ServiceName[] = serviceNames,
): Promise<string[]> {
  const found: string[] = [];
  for (const service of services) found.push(...(await auditIdentity(server, service, probes)));
  return found;
}

async function auditIdentity(
  server: TestNatsServer,
  service: ServiceName,
  probes: readonly Probe[],
): Promise<string[]> {
  const answered = await refusedOf(server, `${service}-0`, probes);
  const differences = (operation: 'publish' | 'subscription', may: string, wanted: (probe: Probe) => boolean) =>
    probes
      .filter((probe) => answered.has(`${operation} ${probe.subject}`) === wanted(probe))
      .map((probe) => `${service} ${wanted(probe) ? 'may not' : 'may'} ${may} ${probe.subject}`);
  return [
    ...differences('publish', 'publish', ({ publish }) => publish.includes(service)),
    ...differences('subscription', 'subscribe', ({ subscribe }) => subscribe.includes(service)),
  ];
}

/** What the broker refuses an identity, as `publish SUBJECT` and `subscription SUBJECT`. */
export async function refusedOf(
  server: TestNatsServer,
  instance: string,
  probes: readonly Pick<Probe, 'subject'>[],
): Promise<Set<string>> {
  const connection = await server.connect(instance);
  const refused = collectRefusals(connection);
  refused.catch(() => undefined);
  for (let from = 0; from < probes.length; from += AT_ONCE) {
    const subscriptions = probes.slice(from, from + AT_ONCE).map(({ subject }) => {
      connection.publish(subject);
      return connection.subscribe(subject, { callback: () => undefined });
    });
    // The server works in order: when it has answered this ping, it has refused everything that it refuses.
    await connection.flush();
    // The client looks through all of its subscriptions for each refusal.
    for (const subscription of subscriptions) if (!subscription.isClosed()) subscription.unsubscribe();
  }
  await connection.close();
  return refused;
}

/**
 * What the broker has refused before the connection is closed, as `publish SUBJECT` and `subscription SUBJECT`. Rejects when the connection
 * is lost, with which refusals would be lost too.
 */
async function collectRefusals(connection: NatsConnection): Promise<Set<string>> {
  const refused = new Set<string>();
  for await (const status of connection.status()) {
    if (status.type === 'disconnect') throw new Error('the broker has ended the connection');
    if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
    refused.add(`${status.error.operation} ${status.error.subject}`);
  }
  return refused;
}
