import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ServiceName, faultContracts, serviceContracts, serviceNames } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { type NatsConnection, headers, nkeyAuthenticator } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import {
  NatsTransport,
  type Permissions,
  READER,
  STREAMS,
  createIdentity,
  defaultRecordLimits,
  ensureStreams,
  permissionsOf,
} from '../src/index.ts';
import { TestNatsServer } from '../src/testing.ts';
import { audit, refusedOf } from './permission-audit.ts';
import { NODE, probes } from './permission-probes.ts';
import { clock, ids } from './ports.ts';

const identities = serviceNames.map((service) => ({ service, instance: `${service}-0` }));

let server: TestNatsServer;
let open: NatsConnection[];

beforeEach(() => {
  server = new TestNatsServer();
  open = [];
});
afterEach(async () => {
  for (const connection of open) await connection.close();
  await server.stop();
});

/** Changes the permissions of one service. */
function changed(service: ServiceName, change: (permissions: Permissions) => Partial<Permissions>) {
  return (...args: Parameters<typeof permissionsOf>): Permissions => {
    const permissions = permissionsOf(...args);
    return args[0].service === service ? { ...permissions, ...change(permissions) } : permissions;
  };
}

async function connection(service: ServiceName | typeof STREAMS): Promise<NatsConnection> {
  const made = await server.connect(`${service}-0`);
  open.push(made);
  return made;
}

/** Every identity tries every subject: thousands of requests, which take time on a busy machine. */
const AUDIT_LIMIT_MS = 300_000;

/** The observatory's command for a fault. */
const INJECTS = 'kubus.n.node.cmd.injectFault.k.observatory.observatory-0';

describe('permissions of the broker', () => {
  test(
    'every identity may publish and subscribe exactly as the contract says, on all declared and JetStream subjects',
    async () => {
      const all = probes();
      expect(all.length).toBeGreaterThan(500);
      // Fault messages are tried too; no service has access to them on such a node.
      const injects = all.find(({ subject }) => subject === INJECTS);
      expect(injects).toMatchObject({ publish: [], subscribe: ['cli'] });
      await server.start(NODE, serviceContracts, identities);
      expect(await audit(server, all)).toEqual([]);
    },
    AUDIT_LIMIT_MS,
  );

  test(
    'on a node with faults the same holds, including the subjects of faults',
    async () => {
      await server.start(NODE, faultContracts, identities);
      const all = probes(faultContracts);
      const injects = all.find(({ subject }) => subject === INJECTS);
      expect(injects).toMatchObject({ publish: ['observatory'], subscribe: ['launcher', 'cli'] });
      expect(await audit(server, all)).toEqual([]);
    },
    AUDIT_LIMIT_MS,
  );

  test.each<[string, ServiceName, ReturnType<typeof changed>, string[]]>([
    [
      'a wider pattern',
      'config-sources',
      changed('config-sources', ({ publish }) => ({ publish: [...publish, '$KV.kubus_n.config.>'] })),
      ['config-sources may publish $KV.kubus_n.config.fact.unknown.k'],
    ],
    [
      'a consumer for any subject',
      'cni-bridge',
      changed('cni-bridge', ({ publish }) => ({
        publish: publish.map((subject) =>
          subject.startsWith('STREAMS.API.CONSUMER.CREATE') ? 'STREAMS.API.CONSUMER.CREATE.KV_kubus_n.>' : subject,
        ),
      })),
      [
        'cni-bridge may publish STREAMS.API.CONSUMER.CREATE.KV_kubus_n.c',
        'cni-bridge may publish STREAMS.API.CONSUMER.CREATE.KV_kubus_n.c.$KV.kubus_n.config.fact.file.>',
      ],
    ],
    [
      'access to replies to another service',
      'sync-loop',
      changed('sync-loop', ({ subscribe }) => ({ subscribe: [...subscribe, 'kubus.n.reply.pod-workers.*.*.*'] })),
      ['sync-loop may subscribe kubus.n.reply.pod-workers.pod-workers-0.k.cri-bridge'],
    ],
    [
      'a missing permission',
      'pod-workers',
      changed('pod-workers', ({ publish }) => ({
        publish: publish.filter((subject) => !subject.includes('RunPodSandbox')),
      })),
      ['pod-workers may not publish kubus.n.runtime.cmd.RunPodSandbox.k.pod-workers.pod-workers-0'],
    ],
  ])(
    'the audit reports %s',
    async (_what, service, permissions, noticed) => {
      await server.start(NODE, serviceContracts, identities, permissions);
      expect(await audit(server, probes(), [service])).toEqual(expect.arrayContaining(noticed));
    },
    AUDIT_LIMIT_MS,
  );

  test('a reader may receive every message of its node, and publish nothing but read requests', async () => {
    await server.start(NODE, serviceContracts, [...identities, { service: READER, instance: 'reader-0' }]);
    const all = probes();
    const refused = await refusedOf(server, 'reader-0', all);
    const allowed = (operation: string) =>
      all.map(({ subject }) => subject).filter((subject) => !refused.has(`${operation} ${subject}`));
    const heard = all.map(({ subject }) => subject).filter((subject) => subject.startsWith('kubus.n.'));
    expect(allowed('subscription')).toEqual(expect.arrayContaining(heard));
    expect(allowed('subscription').filter((subject) => !subject.startsWith('kubus.n.'))).toEqual([]);
    expect(allowed('publish')).toContain('STREAMS.API.STREAM.INFO.KV_kubus_n');
    const reading = /^STREAMS\.API\.(STREAM\.INFO|CONSUMER\.CREATE|CONSUMER\.MSG\.NEXT)\./;
    expect(allowed('publish').filter((subject) => !reading.test(subject))).toEqual([]);
  });

  test('the identity of the streams may make, change and purge the streams of its node, and nothing else', async () => {
    await server.start(NODE, serviceContracts, identities);
    const all = probes();
    const refused = await refusedOf(server, 'streams-0', all);
    const allowed = (operation: string) =>
      all.map(({ subject }) => subject).filter((subject) => !refused.has(`${operation} ${subject}`));
    expect(allowed('subscription')).toEqual([]);
    const streams = ['KV_kubus_n', 'KUBUS_n'];
    const own = streams.flatMap((stream) =>
      ['CREATE', 'UPDATE', 'INFO', 'PURGE', 'DELETE'].map((call) => `$JS.API.STREAM.${call}.${stream}`),
    );
    const other = allowed('publish').filter((subject) => !own.includes(subject));
    expect(own.filter((subject) => !allowed('publish').includes(subject))).toEqual([]);
    const known =
      /^(\$JS\.API\.(INFO|CONSUMER\.CREATE\.KV_kubus_n\.c\.\$KV\.kubus_n\..*)|HUB\.API\.STREAM\.(NAMES|CREATE\.EVENTS_n_1))$/;
    expect(other.filter((subject) => !known.test(subject))).toEqual([]);
  });

  test('clients without a key, or with an unknown one, are refused', async () => {
    await server.start(NODE, serviceContracts, identities);
    const stranger = createIdentity({ service: 'launcher', instance: 'launcher-0' });
    const authenticator = nkeyAuthenticator(new TextEncoder().encode(stranger.seed));
    for (const credentials of [{}, { authenticator }, { user: 'launcher-0', pass: '' }, { token: 'x' }]) {
      const attempt = connect({ servers: server.url, reconnect: false, ...credentials });
      await expect(attempt).rejects.toThrow(/authorization violation/i);
    }
  });
});

test('the launcher may create the streams, keep existing ones, and change their limits', async () => {
  await server.start(NODE, serviceContracts, identities);
  const streams = await connection(STREAMS);
  await ensureStreams(streams, NODE, defaultRecordLimits);
  await ensureStreams(streams, NODE, defaultRecordLimits);
  await ensureStreams(streams, NODE, { ...defaultRecordLimits, maxBytes: 1024 });
  const record = await streams.request('$JS.API.STREAM.INFO.KUBUS_n');
  expect(record.json()).toMatchObject({ config: { max_bytes: 1024, no_ack: true } });
});

describe('attempts to bypass permissions', () => {
  const sandbox = 'kubus.n.runtime.cmd.RunPodSandbox.pod-1.pod-workers.pod-workers-0';
  const instance = 'kubus.n.service.fact.instance.pod-workers-0';

  /** A fact of config-sources that looks like a command, and what cri-bridge accepts. */
  async function prepare() {
    await server.start(NODE, serviceContracts, identities);
    await server.makeStreams();
    const bridge = await connection('cri-bridge');
    const transport = new NatsTransport({
      connection: bridge,
      node: NODE,
      instance: 'cri-bridge-0',
      clock,
      ids,
      logger: silentLogger,
    });
    const heard: string[] = [];
    for (const pattern of ['kubus.n.runtime.cmd.RunPodSandbox.>', 'kubus.n.service.fact.instance.>'])
      transport.subscribe(pattern, ({ subject }) => heard.push(subject));
    const arrived: string[] = [];
    const second = Promise.withResolvers<undefined>();
    // Some versions of the server deliver only when there is a subscription to exactly that subject.
    for (const subject of [sandbox, instance])
      bridge.subscribe(subject, {
        callback: (_error, message) => {
          arrived.push(`${message.subject} as ${subject}`);
          if (subject === instance) second.resolve(undefined);
        },
      });
    await bridge.flush();
    const intruder = await connection('config-sources');
    const forged = headers();
    forged.set('Kubus-Command', '1.1.1');
    await intruder.request('$KV.kubus_n.config.fact.file.pod-1', '{"params":{}}', { headers: forged, timeout: 5_000 });
    return { bridge, heard, arrived, second: second.promise, intruder };
  }

  test('a stored fact that a consumer delivers does not arrive as a command, and is dropped as another fact', async () => {
    const { bridge, heard, arrived, second, intruder } = await prepare();
    const filter = '$KV.kubus_n.config.fact.file.>';
    for (const [name, deliver_subject] of [
      ['a', sandbox],
      ['b', instance],
    ]) {
      const config = { name, ack_policy: 'none', deliver_policy: 'all', deliver_subject, filter_subject: filter };
      const answer = await intruder.request(
        `STREAMS.API.CONSUMER.CREATE.KV_kubus_n.${name}.${filter}`,
        JSON.stringify({ stream_name: 'KV_kubus_n', config }),
      );
      expect(answer.json()).not.toHaveProperty('error');
    }
    await second;
    await bridge.flush();
    expect(arrived).toEqual([`$KV.kubus_n.config.fact.file.pod-1 as ${instance}`]);
    expect(heard).toEqual([]);
  });

  test('a consumer can neither write facts of others nor load facts other than those of its subject', async () => {
    const { intruder } = await prepare();
    const create = async (filter: string, config: object) => {
      const subject = 'STREAMS.API.CONSUMER.CREATE.KV_kubus_n.c.$KV.kubus_n.config.fact.file.>';
      const whole = { name: 'c', ack_policy: 'none', deliver_policy: 'all', filter_subject: filter, ...config };
      const answer = await intruder.request(subject, JSON.stringify({ stream_name: 'KV_kubus_n', config: whole }));
      return answer.json<{ error?: { description: string } }>().error?.description;
    };
    const own = '$KV.kubus_n.config.fact.file.>';
    expect(await create(own, { deliver_subject: '$KV.kubus_n.worker.fact.status.pod-1' })).toMatch(/cycle/);
    const inbox = { deliver_subject: '_INBOX.config-sources-0.x' };
    expect(await create('$KV.kubus_n.worker.fact.status.>', inbox)).toMatch(/did not match/);
  });
});
