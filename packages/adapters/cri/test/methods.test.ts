// Every unary method, once, against a real containerd.
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CriMethods, type UnaryCriMethod, criMethods } from '@kubus/proto/cri';
import { type CriClient, connectCri } from '../src/index.ts';
import { BUSYBOX_IMAGE, PAUSE_IMAGE, type TestContainerd, startContainerd } from './containerd.ts';
import { connected, containerConfig, given, podConfig } from './pods.ts';
import { ports } from './ports.ts';

let runtime: TestContainerd;
let client: CriClient;
const ids = { sandbox: '', container: '' };
const tried = new Set<UnaryCriMethod>();

beforeAll(async () => {
  runtime = await startContainerd();
  client = await connected(connectCri({ socket: runtime.socket, ...ports }));
});
afterAll(async () => {
  client.close();
  await runtime.stop();
});

/** The response, which must be in the JSON form, or undefined if the runtime does not have the method. */
async function call<M extends UnaryCriMethod>(
  method: M,
  request: CriMethods[M]['request'],
): Promise<CriMethods[M]['response'] | undefined> {
  tried.add(method);
  try {
    const response = await client.call(method, request);
    expect(criMethods[method].response.parse(response)).toEqual(response);
    return response;
  } catch (error) {
    expect(error).toMatchObject({ name: 'CriError', code: 'Unimplemented' });
    return undefined;
  }
}

/** For methods that every version has. */
async function answer<M extends UnaryCriMethod>(method: M, request: CriMethods[M]['request']) {
  const response = await call(method, request);
  if (response === undefined) {
    throw new Error(`${method} is not implemented`);
  }
  return response;
}

describe('the runtime', () => {
  it('Version, Status', async () => {
    expect(await answer('Version', {})).toMatchObject({ version: '0.1.0', runtimeApiVersion: 'v1' });
    const { status } = await answer('Status', { verbose: true });
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'RuntimeReady', status: true }));
  });

  it('RuntimeConfig, UpdateRuntimeConfig', async () => {
    const config = await call('RuntimeConfig', {});
    expect([undefined, 'CGROUPFS', 'SYSTEMD']).toContain(config?.linux?.cgroupDriver);
    await answer('UpdateRuntimeConfig', { runtimeConfig: { networkConfig: { podCidr: '10.234.0.0/16' } } });
  });
});

describe('images', () => {
  it('ListImages, ImageStatus, ImageFsInfo', async () => {
    const { images = [] } = await answer('ListImages', {});
    expect(images.flatMap(({ repoTags = [] }) => repoTags).sort()).toEqual([BUSYBOX_IMAGE, PAUSE_IMAGE]);
    const { image } = await answer('ImageStatus', { image: { image: BUSYBOX_IMAGE } });
    expect(image?.repoTags).toEqual([BUSYBOX_IMAGE]);
    expect(await answer('ImageStatus', { image: { image: 'kubus.test/none:1' } })).toEqual({});
    const { imageFilesystems } = await answer('ImageFsInfo', {});
    expect(imageFilesystems).toHaveLength(1);
  });

  it('PullImage fails without a registry; RemoveImage of a missing image is harmless', async () => {
    tried.add('PullImage');
    const image = { image: '127.0.0.1:1/none:1' };
    await expect(client.call('PullImage', { image })).rejects.toMatchObject({
      code: 'Unknown',
      details: expect.stringContaining('connection refused') as unknown,
    });
    await answer('RemoveImage', { image });
  });
});

describe('a pod', () => {
  const config = () => podConfig(runtime, 'methods');

  it('RunPodSandbox, PodSandboxStatus, ListPodSandbox', async () => {
    ids.sandbox = given((await answer('RunPodSandbox', { config: config() })).podSandboxId);
    const { status } = await answer('PodSandboxStatus', { podSandboxId: ids.sandbox });
    expect(status).toMatchObject({ id: ids.sandbox, state: 'SANDBOX_READY', metadata: config().metadata });
    expect(status?.network?.ip).toMatch(/^10\.234\./);
    const ready = { state: { state: 'SANDBOX_READY' as const }, labelSelector: config().labels ?? {} };
    const { items } = await answer('ListPodSandbox', { filter: ready });
    expect(items?.map(({ id }) => id)).toEqual([ids.sandbox]);
    const notReady = { state: { state: 'SANDBOX_NOTREADY' as const } };
    expect(await answer('ListPodSandbox', { filter: notReady })).toEqual({});
  });

  it('CreateContainer, StartContainer, ContainerStatus, ListContainers', async () => {
    const request = {
      podSandboxId: ids.sandbox,
      sandboxConfig: config(),
      config: containerConfig('main', ['/bin/sh', '-c', 'test "$GREETING" = hellö && sleep 1000'], {
        envs: [{ key: 'GREETING', value: Buffer.from('hellö').toString('base64') }],
        linux: { resources: { memoryLimitInBytes: '67108864' }, securityContext: { runAsUser: { value: '7' } } },
      }),
    };
    ids.container = given((await answer('CreateContainer', request)).containerId);
    const { status: created } = await answer('ContainerStatus', { containerId: ids.container });
    expect(created).toMatchObject({ state: 'CONTAINER_CREATED', exitCode: 0, startedAt: '0' });
    await answer('StartContainer', { containerId: ids.container });
    const { status } = await answer('ContainerStatus', { containerId: ids.container, verbose: true });
    expect(status).toMatchObject({ state: 'CONTAINER_RUNNING', labels: request.config.labels });
    expect(BigInt(status?.startedAt ?? 0)).toBeGreaterThanOrEqual(BigInt(status?.createdAt ?? 0));
    const { containers } = await answer('ListContainers', { filter: { podSandboxId: ids.sandbox } });
    expect(containers?.map(({ id, state }) => [id, state])).toEqual([[ids.container, 'CONTAINER_RUNNING']]);
  });

  it('ExecSync, Exec, Attach, PortForward', async () => {
    const cmd = ['/bin/sh', '-c', 'echo out; echo err >&2; exit 3'];
    const output = await answer('ExecSync', { containerId: ids.container, cmd, timeout: '10' });
    expect(output).toEqual({
      stdout: Buffer.from('out\n').toString('base64'),
      stderr: Buffer.from('err\n').toString('base64'),
      exitCode: 3,
    });
    const streams = { containerId: ids.container, stdout: true };
    expect((await answer('Exec', { ...streams, cmd })).url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/exec\//);
    expect((await answer('Attach', streams)).url).toMatch(/\/attach\//);
    const forward = { podSandboxId: ids.sandbox, port: [80] };
    expect((await answer('PortForward', forward)).url).toMatch(/\/portforward\//);
  });

  it('UpdateContainerResources, UpdatePodSandboxResources, ReopenContainerLog', async () => {
    await answer('UpdateContainerResources', { containerId: ids.container, linux: { cpuShares: '512' } });
    await call('UpdatePodSandboxResources', { podSandboxId: ids.sandbox, resources: { cpuShares: '512' } });
    const log = `${runtime.folder}/logs/methods/main.log`;
    renameSync(log, `${log}.1`);
    await answer('ReopenContainerLog', { containerId: ids.container });
    expect(existsSync(log)).toBe(true);
  });

  it('ContainerStats, ListContainerStats, PodSandboxStats, ListPodSandboxStats and metrics', async () => {
    const { stats } = await answer('ContainerStats', { containerId: ids.container });
    expect(BigInt(stats?.memory?.workingSetBytes?.value ?? 0)).toBeGreaterThan(0n);
    const { stats: all } = await answer('ListContainerStats', { filter: { podSandboxId: ids.sandbox } });
    expect(all?.map(({ attributes }) => attributes?.id)).toEqual([ids.container]);
    await call('PodSandboxStats', { podSandboxId: ids.sandbox });
    await call('ListPodSandboxStats', {});
    await call('ListMetricDescriptors', {});
    await call('ListPodSandboxMetrics', {});
  });

  it('CheckpointContainer: not implemented, or refused without CRIU', async () => {
    tried.add('CheckpointContainer');
    mkdirSync(`${runtime.folder}/checkpoints`);
    const request = { containerId: ids.container, location: `${runtime.folder}/checkpoints/main.tar` };
    await expect(client.call('CheckpointContainer', request)).rejects.toMatchObject({ name: 'CriError' });
  });

  it('StopContainer, RemoveContainer, StopPodSandbox, RemovePodSandbox', async () => {
    await answer('StopContainer', { containerId: ids.container, timeout: '0' });
    const { status } = await answer('ContainerStatus', { containerId: ids.container });
    expect(status).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 137 });
    await answer('RemoveContainer', { containerId: ids.container });
    await answer('StopPodSandbox', { podSandboxId: ids.sandbox });
    const { status: stopped } = await answer('PodSandboxStatus', { podSandboxId: ids.sandbox });
    expect(stopped?.state).toBe('SANDBOX_NOTREADY');
    await answer('RemovePodSandbox', { podSandboxId: ids.sandbox });
    expect(await answer('ListPodSandbox', {})).toEqual({});
  });
});

it('all unary methods are covered', () => {
  const unary = Object.entries(criMethods).filter(([, { kind }]) => kind === 'unary');
  expect([...tried].sort()).toEqual(unary.map(([name]) => name).sort());
});
