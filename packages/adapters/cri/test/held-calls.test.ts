// A caller is killed during a call that changes something: with the relay the runtime completes the call, without it
// the runtime aborts it halfway. The call is delayed by a CNI plugin or by runc, which wait at a gate.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { UnaryCriMethod } from '@kubus/proto/cri';
import { type CriClient, type RelayOptions, connectCri } from '../src/index.ts';
import { type TestContainerd, startContainerd } from './containerd.ts';
import { type Gate, gate } from './gate.ts';
import { connected, connectionBecomes, containerConfig, createContainer, podConfig, runSandbox } from './pods.ts';
import { ports } from './ports.ts';
import { until } from './until.ts';

let runtime: TestContainerd;
let network: Gate;
let runc: Gate;
let relay: RelayOptions;
let client: CriClient;

beforeAll(async () => {
  runtime = await startContainerd({
    cniPlugin: (folder) => {
      network = gate(folder, 'cni', '/usr/lib/cni/ptp', '[ "$CNI_COMMAND" = ADD ]');
      return network.program;
    },
    runc: (folder) => {
      runc = gate(folder, 'runc', '/usr/sbin/runc', 'case " $* " in *" start "*) true ;; *) false ;; esac');
      return runc.program;
    },
  });
  relay = { binary: join(runtime.folder, 'cri-relay'), folder: join(runtime.folder, 'run') };
  mkdirSync(relay.folder, { mode: 0o700 });
  const script = fileURLToPath(new URL('../scripts/build-relay.mjs', import.meta.url));
  execFileSync(process.execPath, [script, relay.binary]);
  client = await connected(connectCri({ socket: runtime.socket, ...ports }));
});
afterAll(async () => {
  client.close();
  network.close();
  runc.close();
  await runtime.stop();
});

const undo: (() => void)[] = [];
afterEach(() => undo.splice(0).forEach((action) => action()));

/** A separate process that makes one call (caller.ts). */
function call(method: UnaryCriMethod, request: object, through: RelayOptions | undefined): ChildProcess {
  const script = fileURLToPath(new URL('caller.ts', import.meta.url));
  const job = JSON.stringify({ socket: runtime.socket, relay: through, method, request });
  const child = spawn(process.execPath, [script, job], { stdio: ['ignore', 'pipe', 'inherit'] });
  undo.push(() => child.kill('SIGKILL'));
  return child;
}

/** Sends SIGKILL; resolves when the runtime has lost the direct connections of the process. */
async function kill(caller: ChildProcess, connectionsBefore: number): Promise<void> {
  const ended = once(caller, 'exit');
  caller.kill('SIGKILL');
  await ended;
  await until('the runtime to lose the connection', () => runtime.connections() === connectionsBefore);
}

const sandboxesOf = async (name: string) => {
  const filter = { labelSelector: { 'io.kubernetes.pod.uid': `uid-${name}` } };
  return (await client.call('ListPodSandbox', { filter })).items ?? [];
};

const statusOf = async (containerId: string) => (await client.call('ContainerStatus', { containerId })).status;

/** A container that is created but not started. */
async function madeContainer(name: string): Promise<string> {
  const config = podConfig(runtime, name);
  const sandbox = await runSandbox(client, config);
  return createContainer(client, sandbox, config, containerConfig('main', ['sleep', '1000']));
}

describe('SIGKILL during RunPodSandbox', () => {
  it('without the relay, the runtime kills the CNI plugin and creates no sandbox', async () => {
    const before = runtime.connections();
    const visit = network.arm();
    const caller = call('RunPodSandbox', { config: podConfig(runtime, 'run-cut') }, undefined);
    await visit.entered;
    await kill(caller, before);
    await visit.left; // the gate was not opened
    expect((await sandboxesOf('run-cut')).filter(({ state }) => state === 'SANDBOX_READY')).toEqual([]);
  });

  it('with the relay, the sandbox becomes ready, and the relay ends', async () => {
    const before = runtime.connections();
    const visit = network.arm();
    const caller = call('RunPodSandbox', { config: podConfig(runtime, 'run-held') }, relay);
    await visit.entered;
    await kill(caller, before + 1);
    await until('the relay to stop listening', () => readdirSync(relay.folder).length === 0);
    await visit.open();
    await until('the sandbox', async () => (await sandboxesOf('run-held'))[0]?.state === 'SANDBOX_READY');
    await until('the relay to end', () => runtime.connections() === before);
  });
});

describe('SIGKILL during StartContainer', () => {
  it('without the relay, the runtime reports the container as failed', async () => {
    const container = await madeContainer('start-cut');
    const before = runtime.connections();
    const visit = runc.arm();
    const caller = call('StartContainer', { containerId: container }, undefined);
    await visit.entered;
    await kill(caller, before);
    await visit.open();
    const status = await until('the container to count as lost', async () => {
      const found = await statusOf(container);
      return found?.state === 'CONTAINER_EXITED' && found;
    });
    expect(status).toMatchObject({ reason: 'StartError', exitCode: 128 });
  });

  it('with the relay, the container runs, and the relay ends', async () => {
    const container = await madeContainer('start-held');
    const before = runtime.connections();
    const visit = runc.arm();
    const caller = call('StartContainer', { containerId: container }, relay);
    await visit.entered;
    await kill(caller, before + 1);
    await visit.open();
    await until('the container', async () => (await statusOf(container))?.state === 'CONTAINER_RUNNING');
    await until('the relay to end', () => runtime.connections() === before);
  });
});

describe('a client with the relay', () => {
  function connect(): CriClient {
    const made = connectCri({ socket: runtime.socket, relay, ...ports });
    undo.push(() => made.close());
    return made;
  }

  it('makes every kind of call, and leaves nothing behind when it closes', async () => {
    const before = runtime.connections();
    const held = await connected(connect());
    expect(readdirSync(relay.folder)).toHaveLength(1);
    const sandbox = await runSandbox(held, podConfig(runtime, 'clean'));
    await expect(held.call('StartContainer', { containerId: 'none' })).rejects.toMatchObject({ code: 'NotFound' });
    await held.call('StopPodSandbox', { podSandboxId: sandbox });
    await held.call('RemovePodSandbox', { podSandboxId: sandbox });
    held.close();
    await until('the connections to end', () => runtime.connections() === before);
    expect(readdirSync(relay.folder)).toEqual([]);
  });

  it('that closes during a call gets an error, and the runtime completes the call', async () => {
    const held = await connected(connect());
    const visit = network.arm();
    const running = held.call('RunPodSandbox', { config: podConfig(runtime, 'closed') });
    const failed = expect(running).rejects.toMatchObject({ code: 'Unavailable' });
    await visit.entered;
    held.close();
    await failed;
    await visit.open();
    await until('the sandbox', async () => (await sandboxesOf('closed'))[0]?.state === 'SANDBOX_READY');
  });

  it('forwards a cancellation', async () => {
    const held = await connected(connect());
    const visit = network.arm();
    const request = { config: podConfig(runtime, 'cancelled') };
    const cancel = new AbortController();
    const running = held.call('RunPodSandbox', request, { deadlineMs: undefined, signal: cancel.signal });
    const failed = expect(running).rejects.toMatchObject({ code: 'Cancelled' });
    await visit.entered;
    cancel.abort();
    await failed;
    await visit.left; // the gate was not opened
  });

  it('starts another relay when one is killed, and follows the runtime', async () => {
    await until('the relays of earlier tests to end', () => relayOf(relay.folder) === undefined);
    const held = await connected(connect());
    const pid = await until('the relay', () => relayOf(relay.folder));
    process.kill(pid, 'SIGKILL');
    await connectionBecomes(held, 'lost');
    await expect(held.call('RunPodSandbox', {})).rejects.toMatchObject({ code: 'Unavailable' });
    await connectionBecomes(held, 'connected');
    await runSandbox(held, podConfig(runtime, 'second-relay'));
    await runtime.kill();
    await connectionBecomes(held, 'lost');
    await expect(held.call('RunPodSandbox', {})).rejects.toMatchObject({ code: 'Unavailable' });
    await runtime.restart();
    await connectionBecomes(held, 'connected');
    await runSandbox(held, podConfig(runtime, 'second-runtime'));
  });

  it('is not connected when its relay cannot be run, and keeps trying', async () => {
    const errors: unknown[] = [];
    const logger = { ...ports.logger, error: (fields: object) => errors.push(fields) };
    const binary = join(runtime.folder, 'later');
    const held = connectCri({ socket: runtime.socket, relay: { ...relay, binary }, ...ports, logger });
    undo.push(() => held.close());
    await until('two errors', () => errors.length >= 2);
    expect(held.connection).toBe('connecting');
    await expect(held.call('StartContainer', {})).rejects.toMatchObject({ code: 'Unavailable' });
    await expect(held.call('Version', {})).resolves.toMatchObject({ runtimeName: 'containerd' });
    execFileSync('cp', [relay.binary, binary]);
    await connected(held);
  });
});

/** The relay that serves a socket in this folder. */
function relayOf(folder: string): number | undefined {
  const processes = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' });
  const line = processes.split('\n').find((text) => text.includes(`${relay.binary} ${folder}/`));
  return line === undefined ? undefined : Number(line.trim().split(' ')[0]);
}
