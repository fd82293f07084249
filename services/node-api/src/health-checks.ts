import { request } from 'node:http';
import type { NodeFacts } from './node-facts.ts';

/** Something that has to be well; its check gives what is wrong. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => Promise<string | undefined>;
}

/** How long sync-loop may take to answer, milliseconds. */
const ANSWER_MS = 5_000;

const well = () => Promise.resolve(undefined);

/**
 * The reference's checks (kubelet behaviour 5): that somebody answers, that the log can be written (it is written at once, so
 * who answers has), and that the sync loop goes on. That is another process here: it is asked for its own judgement.
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

/** What is wrong with the service whose health is served there. */
function problemAt(address: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const asking = request(`http://${address}/healthz`, { timeout: ANSWER_MS, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200 ? undefined : `sync-loop is not well: it answers ${answer.statusCode ?? 0}`);
    });
    asking.on('timeout', () => asking.destroy(new Error(`no answer within ${ANSWER_MS} ms`)));
    asking.on('error', (error) => resolve(`sync-loop does not answer: ${error.message}`));
    asking.end();
  });
}
