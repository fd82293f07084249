import { PEOPLE, discoverySubjects, inboxPrefix } from '@kubus/bus-nats';
import type { Clock } from '@kubus/ports';
import type { Msg, NatsConnection } from '@nats-io/nats-core';

export interface DiscoveryInfo {
  readonly service: string;
  readonly instance: string;
  readonly version: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Running totals for STATS. */
  stats(): { requests: number; errors: number };
}

/**
 * Answers PING, INFO and STATS of the NATS services protocol (ADR-32), so that `nats micro` and `kubus status` find the
 * service. Commands are not endpoints of that protocol (they answer more than once), so INFO lists none. An answer goes to command line
 * programs only: on any other subject it would overwrite what this service may publish there.
 */
export function answerDiscovery(connection: NatsConnection, info: DiscoveryInfo, clock: Clock): void {
  const started = new Date(clock.now()).toISOString();
  const base = { name: info.service, id: info.instance, version: info.version, metadata: info.metadata };
  const answers: Record<string, () => object> = {
    PING: () => ({ type: 'io.nats.micro.v1.ping_response', ...base }),
    INFO: () => ({ type: 'io.nats.micro.v1.info_response', ...base, description: info.description, endpoints: [] }),
    STATS: () => {
      const { requests, errors } = info.stats();
      const endpoint = { name: 'bus', subject: 'kubus', num_requests: requests, num_errors: errors };
      return { type: 'io.nats.micro.v1.stats_response', ...base, started, endpoints: [endpoint] };
    },
  };
  const inboxes = `${inboxPrefix(PEOPLE)}.`;
  for (const subject of discoverySubjects(info.service, info.instance)) {
    const answer = answers[subject.split('.')[1] ?? ''];
    connection.subscribe(subject, {
      callback: (error, message: Msg) => {
        if (error !== null || answer === undefined || message.reply?.startsWith(inboxes) !== true) return;
        message.respond(JSON.stringify(answer()));
      },
    });
  }
}
