// Each situation of situations.ts, caused on a real containerd.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CriMethods, UnaryCriMethod } from '@kubus/proto/cri';
import { type CriClient, connectCri, reservedFor, situationOf } from '../src/index.ts';
import { type TestContainerd, startContainerd } from './containerd.ts';
import { type Gate, gate } from './gate.ts';
import { connected, containerConfig, createContainer, podConfig, runSandbox } from './pods.ts';
import { ports } from './ports.ts';
import { until } from './until.ts';

let runtime: TestContainerd;
let runc: Gate;
let client: CriClient;

beforeAll(async () => {
  runtime = await startContainerd({
    runc: (folder) => {
      runc = gate(folder, 'runc', '/usr/sbin/runc', 'case " $* " in *" start "*) true ;; *) false ;; esac');
      return runc.program;
    },
  });
  client = await connected(connectCri({ socket: runtime.socket, ...ports }));
});
afterAll(async () => {
  client.close();
  runc.close();
  await runtime.stop();
});

/** How a call fails. */
async function failure<M extends UnaryCriMethod>(method: M, request: CriMethods[M]['request']): Promise<unknown> {
  try {
    return { unexpected: await client.call(method, request) };
  } catch (error) {
    return error;
  }
}

async function situation<M extends UnaryCriMethod>(method: M, request: CriMethods[M]['request']) {
  const error = await failure(method, request);
  return situationOf(error) ?? error;
}

async function made(name: string, command = ['sleep', '1000']) {
  const config = podConfig(runtime, name);
  const sandbox = await runSandbox(client, config);
  const container = await createContainer(client, sandbox, config, containerConfig('main', command));
  return { config, sandbox, container };
}

describe('names', () => {
  it('of a sandbox and of a container are reserved', async () => {
    const { config, sandbox, container } = await made('names');
    const again = await failure('RunPodSandbox', { config });
    expect([situationOf(again), reservedFor(again)]).toEqual(['name-reserved', sandbox]);
    const request = { podSandboxId: sandbox, sandboxConfig: config, config: containerConfig('main', ['true']) };
    const twice = await failure('CreateContainer', request);
    expect([situationOf(twice), reservedFor(twice)]).toEqual(['name-reserved', container]);
  });
});

describe('a container', () => {
  it('that is being started can be neither started nor removed; stopping it has no effect', async () => {
    const { container } = await made('starting');
    const visit = runc.arm();
    const starting = client.call('StartContainer', { containerId: container });
    await visit.entered;
    expect(await situation('StartContainer', { containerId: container })).toBe('starting');
    expect(await situation('RemoveContainer', { containerId: container })).toBe('starting');
    await client.call('StopContainer', { containerId: container, timeout: '0' });
    await visit.open();
    await starting;
    const { status } = await client.call('ContainerStatus', { containerId: container });
    expect(status?.state).toBe('CONTAINER_RUNNING');
  });

  it('that is being removed can be neither removed nor started', async () => {
    const { container } = await made('removing');
    await client.call('StartContainer', { containerId: container });
    const calls = await Promise.allSettled(
      Array.from({ length: 8 }, () => client.call('RemoveContainer', { containerId: container })),
    );
    const lost = calls.filter((call) => call.status === 'rejected').map(({ reason }) => situationOf(reason));
    expect(new Set(lost)).toEqual(new Set(['removing']));
    expect(calls.some(({ status }) => status === 'fulfilled')).toBe(true);
  });

  it('is not in the required state for a call', async () => {
    const { container } = await made('state');
    const id = { containerId: container };
    expect(await situation('ExecSync', { ...id, cmd: ['true'] })).toBe('wrong-container-state');
    expect(await situation('ReopenContainerLog', id)).toBe('wrong-container-state');
    await client.call('StartContainer', id);
    expect(await situation('StartContainer', id)).toBe('wrong-container-state');
    await client.call('StopContainer', { ...id, timeout: '0' });
    expect(await situation('StartContainer', id)).toBe('wrong-container-state');
    expect(await situation('Attach', { ...id, stdout: true })).toBe('wrong-container-state');
  });

  it('has no image', async () => {
    const { config, sandbox } = await made('image');
    const missing = { ...containerConfig('other', ['true']), image: { image: 'kubus.test/none:1' } };
    const request = { podSandboxId: sandbox, sandboxConfig: config, config: missing };
    expect(await situation('CreateContainer', request)).toBe('image-missing');
  });

  it('runs a command that times out or cannot be run', async () => {
    const { container } = await made('commands');
    await client.call('StartContainer', { containerId: container });
    const slow = { containerId: container, cmd: ['sleep', '1000'], timeout: '1' };
    expect(await situation('ExecSync', slow)).toBe('command-timed-out');
    const missing = { containerId: container, cmd: ['nothing'] };
    expect(await situation('ExecSync', missing)).toBe('command-not-started');
  });
});

describe('a sandbox', () => {
  it('has stopped', async () => {
    const { sandbox, container } = await made('stopped');
    await client.call('StopPodSandbox', { podSandboxId: sandbox });
    expect(await situation('StartContainer', { containerId: container })).toBe('sandbox-not-running');
    expect(await situation('PortForward', { podSandboxId: sandbox, port: [80] })).toBe('sandbox-not-running');
  });

  it('has an unknown runtime handler', async () => {
    const request = { config: podConfig(runtime, 'handler'), runtimeHandler: 'nope' };
    expect(await situation('RunPodSandbox', request)).toBe('no-such-handler');
  });

  it('fails to set up or tear down its network', async () => {
    const { sandbox } = await made('network');
    const conf = join(runtime.folder, 'cni-conf/10-test.conflist');
    renameSync(conf, `${conf}.away`);
    await until('containerd to see it', async () => {
      const { status } = await client.call('Status', {});
      return status?.conditions?.some(({ type, status: ok }) => type === 'NetworkReady' && ok === false) === true;
    });
    expect(await situation('RunPodSandbox', { config: podConfig(runtime, 'none') })).toBe('network-setup-failed');
    expect(await situation('StopPodSandbox', { podSandboxId: sandbox })).toBe('network-teardown-failed');
    renameSync(`${conf}.away`, conf);
  });
});
