import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Bus, CommandFailed, type FencingToken } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import {
  type CriRequest,
  type CriResult,
  type FencedMethod,
  type RuntimePod,
  criCommands,
  fencePod,
  runtimePod,
} from '@kubus/contracts';
import { connectCri } from '@kubus/cri';
import { ObjectCache, type TestRuntime, startRuntime } from '@kubus/harness';
import { busyboxReference } from '@kubus/node-images';
import { ObjectClient } from '@kubus/object-socket';
import { silentLogger } from '@kubus/ports';
import { systemIds } from '@kubus/service-kit';
import { CriBridge } from '../src/index.ts';
import { imagePorts } from './image-ports.ts';
import { machineClock as clock } from './machine-clock.ts';

const POD = 'a';
const LIMIT_MS = 120_000;

let runtime: TestRuntime;
let broker: LocalBroker;
let objects: ObjectCache;
let close: () => Promise<void>;
let worker: Bus;
/** What the bridge has last published about the pod, and who waits for the next. */
let state: RuntimePod | undefined;
let listeners: (() => void)[];

beforeAll(async () => {
  runtime = await startRuntime();
  broker = new LocalBroker('node0');
  const { bus } = broker.join('cri-bridge', clock);
  worker = broker.join('pod-workers', clock).bus;
  const received = (pod: RuntimePod | undefined) => {
    state = pod;
    for (const listener of listeners) listener();
  };
  listeners = [];
  worker.reader(runtimePod, { changed: ({ value }) => received(value), removed: () => received(undefined) });
  // Pods of the machine's default network; the handler for cni-bridge is not this test's concern.
  const client = connectCri({ socket: runtime.socket, logger: silentLogger, clock, ids: systemIds });
  const bridge = new CriBridge({
    ...{ runtime: client, bus, clock, logger: silentLogger },
    ...{
      handler: undefined,
      sandboxesAtOnce: 2,
      podCidrs: [],
      objects: new ObjectClient(runtime.dir.socket('objects')),
    },
    ...(await imagePorts()),
  });
  objects = await ObjectCache.start(broker.join('object-cache', clock).bus, runtime.dir.socket('objects'));
  close = async () => {
    bridge.stop();
    client.close();
    await objects.close();
  };
}, LIMIT_MS);
afterAll(async () => {
  await close();
  await runtime.stop();
}, LIMIT_MS);

/** Resolves once the pod is published as wanted. */
function published(wanted: (pod: RuntimePod | undefined) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!wanted(state)) return;
      listeners = listeners.filter((listener) => listener !== look);
      resolve();
    };
    listeners.push(look);
    look();
  });
}

async function change<M extends FencedMethod>(
  method: M,
  token: FencingToken,
  params: CriRequest<M>['params'],
): Promise<CriResult<M>['response']> {
  return (await worker.call(criCommands[method], POD, { params }, { fencingToken: token })).result.response;
}

test(
  'a pod on containerd is created once for repeated commands, observed when it exits, and removed',
  async () => {
    const first = await worker.call(fencePod, POD, { hold: 1 });
    expect(first.result.pod).toBeUndefined();
    const token = worker.fencingToken(POD, 1);
    const labels = {
      'io.kubernetes.pod.uid': POD,
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'x',
    };
    const sandboxConfig = {
      metadata: { name: 'web', uid: POD, namespace: 'x', attempt: 0 },
      logDirectory: `${runtime.dir.logs}/web`,
      labels,
      linux: { cgroupParent: `${runtime.dir.cgroupRoot}/poda` },
    };
    const { podSandboxId = '' } = await change('RunPodSandbox', token, { config: sandboxConfig });
    // The runtime refuses the second one with "name is reserved"; what it has is the wanted result.
    expect(await change('RunPodSandbox', token, { config: sandboxConfig })).toEqual({ podSandboxId });

    const config = {
      metadata: { name: 'main', attempt: 0 },
      image: { image: busyboxReference },
      command: ['sh', '-c', 'while [ ! -e /end ]; do sleep 0.05; done; exit 3'],
      labels: { ...labels, 'io.kubernetes.container.name': 'main' },
      logPath: 'main.log',
    };
    const create = { podSandboxId, config, sandboxConfig };
    const { containerId = '' } = await change('CreateContainer', token, create);
    expect(await change('CreateContainer', token, create)).toEqual({ containerId });
    await change('StartContainer', token, { containerId });
    await change('StartContainer', token, { containerId });
    await published((pod) => pod?.containers[0]?.state === 'running');
    expect(state).toMatchObject({
      ref: { uid: POD, name: 'web', namespace: 'x' },
      sandboxes: [{ id: podSandboxId, attempt: 0, ready: true, hostNetwork: false }],
      containers: [{ id: containerId, name: 'main', attempt: 0, sandboxId: podSandboxId, exitCode: 0 }],
    });
    expect(state?.sandboxes[0]?.ips).toEqual([expect.stringMatching(/^10\.88\./)]);

    await runtime.ctr('task', 'exec', '--exec-id', 'end', containerId, 'touch', '/end');
    await published((pod) => pod?.containers[0]?.state === 'exited');
    expect(state?.containers[0]).toMatchObject({ exitCode: 3, reason: 'Error' });
    await expect(change('StartContainer', token, { containerId })).resolves.toEqual({});
    await expect(change('CreateContainer', token, create)).rejects.toThrow(CommandFailed);

    for (let time = 0; time < 2; time++) {
      await change('StopContainer', token, { containerId, timeout: '2' });
      await change('StopPodSandbox', token, { podSandboxId });
      await change('RemoveContainer', token, { containerId });
      await change('RemovePodSandbox', token, { podSandboxId });
    }
    await published((pod) => pod === undefined);
    const last = await worker.call(fencePod, POD, { hold: 2 });
    expect(last.result.pod).toBeUndefined();
  },
  LIMIT_MS,
);

test(
  'a container gets the values of its Secret, and no message contains them',
  async () => {
    const value = 'marked s3cret';
    const secret = { kind: 'Secret', namespace: 'x', name: 'sec' } as const;
    const { kind: _kind, ...names } = secret;
    const metadata = { ...names, uid: 'u', resourceVersion: '7' };
    objects.put({ kind: 'Secret', metadata, data: { token: Buffer.from(value).toString('base64') } });
    expect(statSync(runtime.dir.socket('objects')).mode & 0o777).toBe(0o600);

    await worker.call(fencePod, POD, { hold: 3 });
    const token = worker.fencingToken(POD, 3);
    const labels = { 'io.kubernetes.pod.uid': POD, 'io.kubernetes.pod.name': 'a', 'io.kubernetes.pod.namespace': 'x' };
    const sandboxConfig = {
      metadata: { name: 'a', uid: POD, namespace: 'x', attempt: 1 },
      logDirectory: `${runtime.dir.logs}/a`,
      labels,
      linux: { cgroupParent: `${runtime.dir.cgroupRoot}/poda` },
    };
    const { podSandboxId = '' } = await change('RunPodSandbox', token, {
      config: sandboxConfig,
      runtimeHandler: 'kubus',
    });
    const config = {
      metadata: { name: 'main', attempt: 0 },
      image: { image: busyboxReference },
      labels: { ...labels, 'io.kubernetes.container.name': 'main' },
      logPath: 'main.log',
    };
    const environment = {
      device: [],
      steps: [{ from: 'key' as const, name: 'TOKEN', object: secret, key: 'token', optional: false }],
      services: [],
    };
    const process = { environment, command: ['sh', '-c'], args: ['echo "$TOKEN, $(TOKEN)"'] };
    const create = (version: string) =>
      worker.call(
        criCommands.CreateContainer,
        POD,
        { params: { podSandboxId, config, sandboxConfig }, process: { ...process, objects: [{ ...secret, version }] } },
        { fencingToken: token },
      );
    await expect(create('6')).rejects.toMatchObject({ code: 'ObjectChanged' });
    const { containerId = '' } = (await create('7')).result.response;
    await change('StartContainer', token, { containerId });
    await published((pod) => pod?.containers[0]?.state === 'exited');
    expect(await readFile(`${runtime.dir.logs}/a/main.log`, 'utf8')).toContain(`F ${value}, ${value}\n`);

    await change('RemoveContainer', token, { containerId });
    await change('StopPodSandbox', token, { podSandboxId });
    await change('RemovePodSandbox', token, { podSandboxId });
    await published((pod) => pod === undefined);
    const said = broker.said.map(({ headers, data }) => JSON.stringify(headers) + data).join('\n');
    expect(said).toContain('runtime.cmd.CreateContainer');
    for (const text of [value, Buffer.from(value).toString('base64')]) expect(said).not.toContain(text);
  },
  LIMIT_MS,
);
