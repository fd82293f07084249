import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { findImage, pullImage } from '@kubus/contracts';
import { connectCri } from '@kubus/cri';
import { type TestRuntime, TestRegistry, Tunnel, registryLogin, startRuntime } from '@kubus/harness';
import { buildBusybox } from '@kubus/node-images';
import { silentLogger } from '@kubus/ports';
import { systemIds } from '@kubus/service-kit';
import { PullCredentials } from '../src/index.ts';
import { Images } from '../src/image/images.ts';
import { imagePorts } from './image-ports.ts';
import { machineClock as clock } from './machine-clock.ts';

const LIMIT_MS = 120_000;

let runtime: TestRuntime;
let tunnel: Tunnel;
let worker: Bus;
let close: () => void;
let image: string;

/** Secrets by name: the password for the registry's user. */
const passwords: Readonly<Record<string, string>> = { right: registryLogin.password, wrong: 'guess' };

beforeAll(async () => {
  runtime = await startRuntime();
  const { dir } = runtime;
  const inside: TestRuntime['inside'] = (command) => runtime.inside(command);
  tunnel = await Tunnel.open(dir);
  const registry = await TestRegistry.start({ dir, inside, tunnel }, { port: 5000, login: true });
  const reference = `${registry.host}/private/app:1`;
  image = await registry.push(await buildBusybox({ reference, labels: { reference } }, dir.root), 'private/app', '1');

  const broker = new LocalBroker('node0');
  const { bus } = broker.join('cri-bridge', clock);
  worker = broker.join('pod-workers', clock).bus;
  const client = connectCri({ socket: runtime.socket, logger: silentLogger, clock, ids: systemIds });
  close = () => client.close();
  const { images } = await imagePorts();
  const credentials = new PullCredentials({
    objects: {
      read: ({ name }) => {
        const auths = { [registry.host]: { username: registryLogin.username, password: passwords[name] } };
        const values = new Map([['.dockerconfigjson', Buffer.from(JSON.stringify({ auths }))]]);
        const type = 'kubernetes.io/dockerconfigjson';
        return Promise.resolve({ uid: name, version: '1', type, values, binaryValues: new Map() });
      },
    },
    node: { for: () => Promise.resolve([]) },
  });
  const ports = { runtime: client, bus, clock, logger: silentLogger };
  new Images({ ...images, ...ports, credentials, onGiven: () => undefined }).serve();
}, LIMIT_MS);
afterAll(async () => {
  close();
  await tunnel.close();
  await runtime.stop();
}, LIMIT_MS);

function request(secrets: readonly string[]) {
  const pullSecrets = secrets.map((name) => ({ kind: 'Secret' as const, namespace: 'n', name, version: '1' }));
  return { image, pod: { uid: 'a', name: 'a', namespace: 'n' }, pullSecrets };
}

const pull = async (...secrets: string[]) =>
  (await worker.call(pullImage, 'a', { ...request(secrets), annotations: {} })).result;
const mayUse = async (...secrets: string[]) => (await worker.call(findImage, 'a', request(secrets))).result.mayUse;

test(
  'an image of a registry with a login is usable with the right Secret only, also once it is on the node',
  async () => {
    await expect(pull()).rejects.toMatchObject({ code: 'pull-failed', message: expect.stringContaining(image) });
    await expect(pull('wrong')).rejects.toMatchObject({ code: 'pull-failed' });
    expect(await mayUse('right')).toBe(false);
    const { imageRef, image: pulled } = await pull('wrong', 'right');
    expect(pulled?.id).toBe(imageRef);
    expect(Number(pulled?.size)).toBeGreaterThan(100_000);
    expect([await mayUse(), await mayUse('wrong'), await mayUse('right')]).toEqual([false, false, true]);
  },
  LIMIT_MS,
);
