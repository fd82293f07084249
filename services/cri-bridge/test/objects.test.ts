import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { Bus, FencingToken } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type ProcessToComplete, criCommands, fencePod, readPod } from '@kubus/contracts';
import { type ObjectData, ObjectError, type ObjectReader } from '@kubus/object-socket';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { ContainerConfig } from '@kubus/proto/cri';
import { CriBridge } from '../src/index.ts';
import { imagePorts } from './image-ports.ts';
import { ScriptedPods } from './scripted-pods.ts';
import { failure } from './scripted-runtime.ts';

const VALUE = 'marked s3cret';
const object = { kind: 'Secret', namespace: 'default', name: 'sec' } as const;
const process: ProcessToComplete = {
  environment: {
    device: [],
    steps: [
      { from: 'key', name: 'TOKEN', object, key: 'token', optional: false },
      { from: 'object', object: { ...object, name: 'absent' }, prefix: '', optional: true },
    ],
    services: [['WEB_SERVICE_HOST', '10.0.0.1']],
  },
  command: ['run', '--token=$(TOKEN)'],
  args: ['$(WEB_SERVICE_HOST)'],
  objects: [{ ...object, version: '7' }],
};

let broker: LocalBroker;
let clock: ManualClock;
let runtime: ScriptedPods;
let worker: Bus;
let token: FencingToken;

beforeEach(() => {
  broker = new LocalBroker('node0');
  clock = new ManualClock();
  runtime = new ScriptedPods();
  runtime.on('CreateContainer', () => Promise.resolve({ containerId: 'c' }));
});

async function start(objects?: ObjectReader): Promise<void> {
  const { bus } = broker.join('cri-bridge', clock);
  const ports = { runtime, bus, clock, logger: silentLogger };
  new CriBridge({ ...ports, handler: undefined, sandboxesAtOnce: 1, podCidrs: [], objects, ...(await imagePorts()) });
  worker = broker.join('pod-workers', clock).bus;
  await worker.call(fencePod, 'a', { hold: 1 });
  token = worker.fencingToken('a', 1);
}

const create = (request: { process?: ProcessToComplete } = { process }) =>
  worker.call(
    criCommands.CreateContainer,
    'a',
    { params: { podSandboxId: 's-a', config: { workingDir: '/w' } }, ...request },
    { fencingToken: token },
  );
const created = () => runtime.calls.filter(({ method }) => method === 'CreateContainer').map(({ request }) => request);

test('values of objects are in the call to the runtime and in no message', async () => {
  const asked: unknown[] = [];
  const data: ObjectData = {
    uid: 'u',
    version: '7',
    type: 'Opaque',
    values: new Map([['token', Buffer.from(VALUE)]]),
    binaryValues: new Map(),
  };
  await start({
    read: (one) => {
      asked.push(one);
      return Promise.resolve(data);
    },
  });
  await create();
  expect(asked).toEqual(process.objects);
  const [{ config = {} } = {}] = created() as { config?: ContainerConfig }[];
  expect(config).toMatchObject({ workingDir: '/w', command: ['run', `--token=${VALUE}`], args: ['10.0.0.1'] });
  expect(config.envs?.map(({ key, value = '' }) => `${key ?? ''}=${atob(value)}`)).toEqual([
    `TOKEN=${VALUE}`,
    'WEB_SERVICE_HOST=10.0.0.1',
  ]);
  const said = broker.said.map(({ headers, data }) => JSON.stringify(headers) + data).join('\n');
  expect(said).toContain('"name":"sec"');
  for (const text of [VALUE, btoa(VALUE)]) expect(said).not.toContain(text);
});

test('the runtime’s messages about a container are published without the values', async () => {
  const data: ObjectData = {
    uid: 'u',
    version: '7',
    type: 'Opaque',
    values: new Map([['token', Buffer.from(VALUE)]]),
    binaryValues: new Map(),
  };
  runtime.set('a', 'CONTAINER_CREATED');
  const error = `exec: "run --token=${VALUE}": executable file not found`;
  runtime.on('StartContainer', () => Promise.reject(failure('Unknown', error)));
  await start({ read: () => Promise.resolve(data) });
  await create();
  runtime.set('a', 'CONTAINER_EXITED');
  runtime.on('ContainerStatus', ({ containerId = '' }) =>
    Promise.resolve({ status: { id: containerId, state: 'CONTAINER_EXITED', message: error } }),
  );
  const redacted = 'exec: "run --token=<redacted>": executable file not found';
  const started = worker.call(
    criCommands.StartContainer,
    'a',
    { params: { containerId: 'c-a' } },
    { fencingToken: token },
  );
  await expect(started).rejects.toMatchObject({ message: redacted });
  await settled();
  const { pod } = (await worker.call(readPod, 'a', {})).result;
  expect(pod?.containers.map(({ message }) => message)).toEqual([redacted]);
  expect(broker.said.filter(({ data: text }) => text.includes(VALUE))).toEqual([]);
});

test('a variable from an env file is read when the runtime is called', async () => {
  const volume = mkdtempSync(join(tmpdir(), 'kubus-env-file-'));
  try {
    writeFileSync(join(volume, 'a'), `TOKEN='${VALUE}'`);
    await start();
    const step = { from: 'file', name: 'TOKEN', volume, path: 'a', key: 'TOKEN', optional: false } as const;
    const environment = { ...process.environment, steps: [step] };
    const fromFile = { ...process, environment, args: [], objects: [] };
    await create({ process: fromFile });
    expect(created()).toMatchObject([{ config: { command: ['run', `--token=${VALUE}`] } }]);
    expect(broker.said.filter(({ data }) => data.includes(VALUE))).toEqual([]);
    const missing = { ...fromFile, environment: { ...environment, steps: [{ ...step, path: 'b' }] } };
    await expect(create({ process: missing })).rejects.toMatchObject({
      ...{ code: 'CreateContainerConfigError', message: "couldn't parse env file" },
    });
  } finally {
    rmSync(volume, { recursive: true });
  }
});

test('a container is not created with an object that has changed since', async () => {
  await start({ read: () => Promise.reject(new ObjectError('ObjectChanged', 'not at version 7 any more')) });
  await expect(create()).rejects.toMatchObject({ code: 'ObjectChanged' });
  expect(created()).toEqual([]);
});

test('a node without object-cache refuses containers that need objects', async () => {
  await start();
  await expect(create()).rejects.toMatchObject({ code: 'NoObjectCache' });
  await create({});
  expect(created()).toEqual([{ podSandboxId: 's-a', config: { workingDir: '/w' } }]);
});
