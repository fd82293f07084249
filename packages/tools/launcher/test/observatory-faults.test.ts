import { expect, test } from '@jest/globals';
import type { Bus } from '@kubus/bus';
import { RecordFollower } from '@kubus/bus-nats';
import { runtimeHint } from '@kubus/contracts';
import type { FaultDocument, FaultsDocument } from '@kubus/contracts/observatory';
import { NodeRecordings, Threads, createApp } from '@kubus/observatory';
import { NodeFaults } from '@kubus/observatory/node-faults';
import { silentLogger } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import { join } from 'node:path';
import { Faulty, NODE } from './faulty-node.ts';
import { afterTest, testFolder } from './support.ts';

const LIMIT_MS = 120_000;
const api = '/api/v1';

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}
interface Refused {
  readonly error: { readonly code: string; readonly message: string };
}

/** The API of the observatory of a node with faults. */
async function observatory(faulty: Faulty) {
  const folder = join(await testFolder(), 'state');
  const limits = { liveBytes: 2 ** 28, liveMs: Number.MAX_SAFE_INTEGER, recordingBytes: 2 ** 30 };
  const ports = { clock: systemClock, ids: systemIds, logger: silentLogger };
  const { bus, connection } = await faulty.observatory();
  let recorded = Promise.withResolvers<undefined>();
  const open = async () => {
    const threads = new Threads();
    const recordings = new NodeRecordings({ ...ports, folder, node: NODE, version: '1', limits, threads });
    const faults = new NodeFaults({ bus, clock: systemClock, recordings });
    recordings.onMessages(() => recorded.resolve(undefined));
    const app = await createApp({ recordings, threads, version: '1', faults, ids: systemIds, logger: silentLogger });
    const follower = new RecordFollower({
      ...{ connection, node: NODE, instance: 'observatory-0', ids: systemIds, logger: silentLogger },
      begin: (state) => recordings.recorder.begin(state),
      take: (messages) => recordings.recorder.take(messages),
    });
    const close = async () => {
      await follower.stop();
      await app.close();
      await threads.close();
      recordings.close();
    };
    return { app, close };
  };
  let now = await open();
  afterTest(() => now.close());
  return {
    ask: async <T>(method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object): Promise<Answer<T>> => {
      const answer = await now.app.inject({ method, url: `${api}${path}`, ...(payload && { payload }) });
      return { status: answer.statusCode, body: (answer.body === '' ? undefined : answer.json()) as T };
    },
    /** Resolves when something more has been recorded, and counted. */
    recorded: () => (recorded = Promise.withResolvers<undefined>()).promise,
    again: async () => {
      await now.close();
      now = await open();
    },
  };
}

type Observatory = Awaited<ReturnType<typeof observatory>>;
type Asking = Observatory['ask'];

const list = async (ask: Asking) => (await ask<FaultsDocument>('GET', '/faults')).body;

/** Publishes hints, each of which is recorded, until the list is as expected. */
async function untilListed(
  bridge: Bus,
  { ask, recorded }: Pick<Observatory, 'ask' | 'recorded'>,
  isWanted: (faults: FaultsDocument) => boolean,
) {
  for (;;) {
    const next = recorded();
    bridge.emit(runtimeHint, 'pod-1', { containerId: 'c', kind: 'exit', at: '2026-01-01T00:00:00Z' });
    const faults = await list(ask);
    if (isWanted(faults)) return faults;
    await next;
  }
}

const dropHints = { match: { subject: 'runtime.event.hint.*' }, what: { kind: 'drop' } };

test(
  'a rule is created over HTTP, counted, still counted after a restart of the observatory, and ended',
  async () => {
    const faulty = await Faulty.start();
    await faulty.launcher();
    const bridge = await faulty.service('cri-bridge');
    const observed = await observatory(faulty);
    const { ask, again } = observed;
    expect((await ask('GET', '/')).body).toEqual({ version: '1', node: NODE, faults: true });
    expect(await list(ask)).toEqual({ rules: [], pauses: [] });
    const given = await ask<FaultDocument>('POST', '/faults', dropHints);
    expect(given).toMatchObject({ status: 201, body: { text: 'drop runtime.event.hint.*', acted: 0 } });
    const { id } = given.body.rule;
    expect(id).toMatch(/^drop-[0-9a-f]{6}$/);
    const counted = await untilListed(bridge, observed, ({ rules }) => (rules[0]?.acted ?? 0) > 2);
    expect(counted.rules).toMatchObject([{ rule: { id, ...dropHints }, actedAt: expect.any(Number) as unknown }]);
    await again();
    await untilListed(bridge, observed, ({ rules }) => (rules[0]?.acted ?? 0) > (counted.rules[0]?.acted ?? 0));

    // All messages between services are lost now.
    const everything = await ask('POST', '/faults', {
      id: 'everything',
      match: { subject: '>' },
      what: { kind: 'drop' },
    });
    expect(everything.status).toBe(201);
    const one = (await ask<Refused>('DELETE', '/faults/none')).body.error;
    expect(one).toEqual({ code: 'no-fault', message: 'there is no fault "none" on this node' });
    expect((await ask('DELETE', `/faults/${id}`)).status).toBe(204);
    expect((await list(ask)).rules.map(({ rule }) => rule.id)).toEqual(['everything']);
    expect(await ask('DELETE', '/faults')).toEqual({ status: 200, body: { cleared: ['everything'] } });
    expect(await list(ask)).toEqual({ rules: [], pauses: [] });

    // Another rule with this name starts at zero.
    expect((await ask('POST', '/faults', { ...dropHints, id, when: { everyNth: 1_000_000 } })).status).toBe(201);
    expect((await list(ask)).rules).toMatchObject([{ acted: 0 }]);
    await ask('DELETE', '/faults');
  },
  LIMIT_MS,
);

test(
  'a request that cannot be served is refused with the field or the cause',
  async () => {
    const faulty = await Faulty.start();
    await faulty.launcher();
    const { ask } = await observatory(faulty);
    const refused = async (method: 'POST' | 'DELETE', path: string, body?: object) => {
      const answer = await ask<Refused>(method, path, body);
      return `${answer.status} ${answer.body.error.code} ${answer.body.error.message}`;
    };
    const drop = { kind: 'drop' };
    const post = (body: object) => refused('POST', '/faults', body);
    expect(await post({ match: { subject: 'a..b' }, what: drop })).toMatch(/^400 bad-request match\.subject: "a\.\.b"/);
    expect(await post({ match: { subject: '>', reader: 'nobody' }, what: drop })).toMatch(/^400.*match\.reader: /);
    expect(await post({ match: { subject: '>', reader: 'observatory' }, what: drop })).toMatch(/cannot be disturbed/);
    expect(await post({ match: { subject: '>' }, what: { kind: 'delay', ms: 60_001 } })).toMatch(/^400.*what\.ms: /);
    expect(await post({ match: { subject: '>' }, what: drop, when: { nth: [0] } })).toMatch(/^400.*when\.nth\.0: /);
    expect(await post({ id: 'A', match: { subject: '>' }, what: drop })).toMatch(
      /^400 bad-request id: "A" is not a valid name/,
    );
    expect(await post({})).toMatch(/match: .*what: /);
    const once = { id: 'once', match: { subject: 'probe.>' }, what: drop };
    expect((await ask('POST', '/faults', once)).status).toBe(201);
    expect(await post(once)).toBe('409 FaultExists fault "once" already exists: clear it first');
    expect(await refused('DELETE', '/faults/-')).toMatch(/^400 bad-request id: /);
    const disturb = (service: string, body: object) => refused('POST', `/services/${service}/fault`, body);
    expect(await disturb('nobody', { what: 'kill' })).toMatch(
      /^400 bad-request service: "nobody" is neither a service nor an instance/,
    );
    expect(await disturb('observatory-0', { what: 'kill' })).toMatch(/^400.*cannot disturb itself/);
    expect(await disturb('prober', { what: 'pause' })).toMatch(/^400 bad-request forMs: /);
    expect(await disturb('prober', { what: 'kill' })).toBe('404 no-service no service "prober" runs on this node');
  },
  LIMIT_MS,
);
