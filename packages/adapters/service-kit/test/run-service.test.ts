import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import { NODE_LOG_LEVEL, nodeLogLevel, restartService, serviceContracts } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import type { NatsConnection } from '@nats-io/nats-core';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { joinBus, version } from '../src/index.ts';
import { TestProcess } from './test-process.ts';

const NODE = 'node0';
const INSTANCE = 'launcher-0';

/** Starting processes and restarting a broker take long on a busy machine. */
const LIMIT_MS = 180_000;

/** How many stops in a row: an exit that waits for the engine's threads hangs in one of a few dozen. */
const STOPS = process.env['KUBUS_TEST_SOAK'] === '1' ? 500 : 20;
/** The bound of a stop, and what a busy machine may add. */
const STOP_MS = 60_000;

let dir: string;
let server: TestNatsServer;
let started: TestProcess[];
let open: NatsConnection[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-service-'));
  server = new TestNatsServer();
  started = [];
  open = [];
  const identities = [
    { service: 'launcher', instance: INSTANCE },
    { service: 'cli', instance: 'cli-0' },
    { service: 'node-api', instance: 'node-api-0' },
  ] as const;
  await server.start(NODE, serviceContracts, identities);
  await mkdir(join(dir, 'identities'));
  await writeFile(join(dir, 'identities', `${INSTANCE}.nk`), `${seedOf(INSTANCE)}\n`, { mode: 0o600 });
});
afterEach(async () => {
  await Promise.all(started.map((child) => child.kill()));
  await Promise.all(open.map((connection) => connection.close()));
  await server.stop();
  await rm(dir, { recursive: true });
});

function seedOf(instance: string): string {
  return server.identities.get(instance)?.seed ?? '';
}

async function connection(instance: string): Promise<NatsConnection> {
  const made = await server.connect(instance);
  open.push(made);
  return made;
}

/** The launcher's task for its node: without the streams there is no bus. */
async function makeStreams(): Promise<void> {
  await server.makeStreams();
}

/** Writes the configuration with some fields changed. */
async function configFile(changes: object = {}): Promise<string> {
  const path = join(dir, 'config.json');
  const config = {
    node: NODE,
    nats: { url: server.url, identities: join(dir, 'identities') },
    state: join(dir, 'state'),
    manifests: { path: '/nowhere' },
    runtime: { socket: '/nowhere' },
    network: { configDir: '/nowhere', pluginDirs: ['/nowhere'], socket: '/nowhere' },
    pods: { root: '/nowhere', logs: '/nowhere' },
    ...changes,
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

function start(...args: string[]): TestProcess {
  const child = new TestProcess('probe-service.ts', args);
  started.push(child);
  return child;
}

const saying = (text: string) => (line: Record<string, unknown>) => String(line['msg']).startsWith(text);

async function get(address: unknown, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://${String(address)}${path}`);
  return { status: response.status, text: await response.text() };
}

describe('a service and NATS', () => {
  test(
    'it serves HTTP and names what it waits for until NATS is available, and continues after an outage of NATS',
    async () => {
      await server.kill();
      const service = start('--config', await configFile());
      const { http } = await service.line(saying('started'));
      expect(JSON.parse((await get(http, '/readyz')).text)).toEqual({
        ok: false,
        checks: {
          ...{ 'event loop': 'ok', 'file threads': 'ok', disk: 'ok', 'file descriptors': 'ok' },
          bus: 'waiting for NATS',
        },
      });
      expect(await get(http, '/healthz')).toMatchObject({ status: 200 });
      expect((await get(http, '/metrics')).text).not.toContain('kubus_bus_connected');

      for (const life of [1, 2]) {
        const before = service.said.length;
        await server.restart();
        await makeStreams();
        await service.line(saying('connected to NATS'), before);
        expect(await get(http, '/readyz')).toMatchObject({ status: 200, text: expect.stringContaining('"ok":true') });
        expect((await get(http, '/metrics')).text).toMatch(/^kubus_bus_connected\{.*\} 1$/m);

        await server.kill();
        await service.line(saying('connection to NATS lost'), before);
        const ready = await get(http, '/readyz');
        expect(ready).toMatchObject({ status: 503, text: expect.stringContaining('not connected to NATS') });
        expect((await get(http, '/metrics')).text).toMatch(/^kubus_bus_connected\{.*\} 0$/m);
        expect(service.said.filter(saying('connection to NATS lost'))).toHaveLength(life);
      }
      expect(await get(http, '/healthz')).toMatchObject({ status: 200 });
    },
    LIMIT_MS,
  );

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s ends it with code 0, and its slot is free for the next one',
    async (signal) => {
      await makeStreams();
      const config = await configFile();
      for (const epoch of [1, 2]) {
        const service = start('--config', config);
        await service.line(saying('connected to NATS'));
        service.signal(signal);
        expect(await service.exited()).toBe(0);
        expect(service.said.find(saying('started'))).toMatchObject({ epoch });
        expect(service.said.at(-1)).toMatchObject({ msg: 'stopped', level: 'info' });
        expect(service.stderr).toBe('');
      }
    },
    LIMIT_MS,
  );

  test('no stop of many takes longer than the bound', async () => {
    await makeStreams();
    const config = await configFile();
    for (let stop = 1; stop <= STOPS; stop++) {
      const service = start('--config', config);
      await service.line(saying('connected to NATS'));
      service.signal('SIGTERM');
      const code = await Promise.race([service.exited(), wait(STOP_MS, `stop ${stop} hangs`, { ref: false })]);
      expect(code).toBe(0);
    }
  });

  test(
    'SIGTERM ends it also before NATS has started and after NATS has stopped',
    async () => {
      await server.kill();
      const waiting = start('--config', await configFile());
      await waiting.line(saying('started'));
      waiting.signal('SIGTERM');
      expect(await waiting.exited()).toBe(0);

      await server.restart();
      await makeStreams();
      const left = start('--config', await configFile());
      await left.line(saying('connected to NATS'));
      await server.kill();
      await left.line(saying('connection to NATS lost'));
      left.signal('SIGTERM');
      expect(await left.exited()).toBe(0);
      expect(left.said.at(-1)).toMatchObject({ msg: 'stopped' });
    },
    LIMIT_MS,
  );

  test(
    'discovery finds it: PING, INFO and STATS for all, for a service and for an instance',
    async () => {
      await makeStreams();
      const people = await connection('cli-0');
      const announced = Promise.withResolvers<{ http: string }>();
      people.subscribe(`kubus.${NODE}.service.fact.instance.${INSTANCE}`, {
        callback: (_error, message) => announced.resolve(message.json()),
      });
      await people.flush();
      start('--config', await configFile());
      const { http } = await announced.promise;
      const base = {
        name: 'launcher',
        id: INSTANCE,
        version,
        metadata: { node: NODE, epoch: '1', http },
      };
      // ADR-32 requires semantic versioning.
      expect(version).toMatch(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/);
      const answers = {
        PING: base,
        INFO: { ...base, description: serviceContracts.launcher.about, endpoints: [] },
        STATS: { ...base, started: expect.any(String), endpoints: [expect.objectContaining({ num_errors: 0 })] },
      };
      for (const [verb, answer] of Object.entries(answers)) {
        for (const tail of ['', '.launcher', `.launcher.${INSTANCE}`]) {
          const { data } = await people.request(`$SRV.${verb}${tail}`, '', { timeout: 5_000 });
          expect(JSON.parse(new TextDecoder().decode(data))).toEqual({
            ...answer,
            type: `io.nats.micro.v1.${verb.toLowerCase()}_response`,
          });
        }
      }
      await expect(people.request('$SRV.PING.launcher.launcher-1', '')).rejects.toThrow(/no responders/i);
    },
    LIMIT_MS,
  );
});

describe('the log level of a service', () => {
  test(
    'is that requested for the whole node while the request lasts, otherwise the configured one',
    async () => {
      await makeStreams();
      const service = start('--config', await configFile({ logLevel: 'info' }));
      const member = async (name: 'cli' | 'node-api', epoch: number) => {
        const [identity, logger] = [`${name}-0`, silentLogger];
        return joinBus({ connection: await connection(identity), node: NODE, service: name, identity, epoch, logger })
          .bus;
      };
      const people = await member('cli', 1);
      let asked = 0;
      /** Whether a child of the service's logger writes debug lines now. */
      const details = async () => {
        asked += 1;
        const ofThis = (msg: string) => (line: Record<string, unknown>) =>
          line['msg'] === msg && line['key'] === `key-${asked}`;
        await people.call(restartService, `key-${asked}`, {});
        await service.line(ofThis('in short'));
        return service.said.some(ofThis('in detail'));
      };
      /** Each change takes a moment to arrive; the next one is made only afterwards. */
      const until = async (wanted: boolean) => {
        while ((await details()) !== wanted);
      };
      await until(false);
      const facts = (await member('node-api', 1)).owner(nodeLogLevel);
      facts.complete();
      for (const [verbosity, detailed] of [
        [4, true],
        [3, false],
        [10, true],
        [0, false],
        [5, true],
      ] as const) {
        facts.put(NODE_LOG_LEVEL, { verbosity });
        await until(detailed);
      }
      (await member('node-api', 2)).owner(nodeLogLevel).complete();
      await until(false);
    },
    LIMIT_MS,
  );
});

describe('a service that cannot start', () => {
  test.each<[string, () => Promise<string[]>, RegExp]>([
    ['no configuration is named', () => Promise.resolve([]), /^--config FILE is missing$/],
    ['an option is unknown', () => Promise.resolve(['--confg', 'x']), /Unknown option '--confg'/],
    [
      'the slot is not a number',
      async () => ['--config', await configFile(), '--slot', 'x'],
      /^--slot x is not a number$/,
    ],
    ['does not exist', () => Promise.resolve(['--config', '/nowhere/a.json']), /^\/nowhere\/a\.json: ENOENT/],
    ['a field is wrong', async () => ['--config', await configFile({ logLevel: 'loud' })], /config\.json: logLevel: /],
    ['its key is missing', async () => ['--config', await configFile(), '--slot', '7'], /ENOENT.*launcher-7\.nk/],
  ])(
    'logs one line and exits with code 1 when %s',
    async (_when, args, message) => {
      const service = start(...(await args()));
      expect(await service.exited()).toBe(1);
      const errors = service.said.filter(({ level }) => level === 'error');
      expect(errors).toEqual([expect.objectContaining({ msg: 'cannot start' })]);
      expect((errors[0]?.['err'] as { message: string } | undefined)?.message).toMatch(message);
      expect(service.stderr).toBe('');
    },
    LIMIT_MS,
  );

  test(
    'includes a second process of one instance, which does not affect the first',
    async () => {
      await makeStreams();
      const config = await configFile();
      const first = start('--config', config);
      await first.line(saying('connected to NATS'));
      const second = start('--config', config);
      expect(await second.exited()).toBe(1);
      expect(second.said).toEqual([
        expect.objectContaining({ err: expect.objectContaining({ message: expect.stringContaining('slot 0 in') }) }),
      ]);
      expect(await get(first.said[0]?.['http'], '/readyz')).toMatchObject({ status: 200 });
    },
    LIMIT_MS,
  );
});
