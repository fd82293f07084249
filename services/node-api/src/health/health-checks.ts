import { request } from 'node:http';
import type { NodeFacts } from '../node-facts.ts';

/** A health check: it returns the problem, if there is one. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => Promise<string | undefined>;
}

/** How long sync-loop may take to answer, in milliseconds. */
const ANSWER_MS = 5_000;

const well = () => Promise.resolve(undefined);

/**
 * The reference's checks (behaviour:http-api): the server answers, the log can be written (it is written synchronously, so
 * a server that answers can write it), and the sync loop runs. The sync loop is another process: its own health is requested.
 */
export function nodeHealthChecks(facts: NodeFacts): readonly HealthCheck[] {
  const syncloop = async () => {
    const found = facts.syncLoop();
    if (typeof found === 'string') return found;
    return found.http === undefined ? undefined : await problemAt(found.http);
  };
  return [
    { name: 'ping', check: well },
    { name: 'log', check: well },
    { name: 'syncloop', check: syncloop },
  ];
}

/** The problem with the service whose health is served at this address. */
function problemAt(address: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const asking = request(`http://${address}/healthz`, { timeout: ANSWER_MS, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200 ? undefined : `sync-loop is unhealthy: it answers ${answer.statusCode ?? 0}`);
    });
    asking.on('timeout', () => asking.destroy(new Error(`no answer within ${ANSWER_MS} ms`)));
    asking.on('error', (error) => resolve(`sync-loop does not answer: ${error.message}`));
    asking.end();
  });
}
