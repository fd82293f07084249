import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RunningCommand, poll } from '@kubus/harness';
import { runCommand } from '@kubus/launcher';
import { callCriOnce } from '@kubus/node-images';
import { decodeManifest, staticPod } from '@kubus/pod-source';
import { readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeletMachine } from '../src/kubelet-machine.ts';
import { type LeftManifest, leavePod, leaveRootFolder } from '../src/leave-pods.ts';
import { type LeftPod, fillPlaceholders, readLeftPods } from '../src/left-pods.ts';
import { pod } from '../src/pods.ts';

/**
 * The pods of the reference kubelet v1.36 for these manifests, read from its runtime with {@link readLeftPods} after it
 * had ended.
 */
const reference = JSON.parse(readFileSync(join(import.meta.dirname, 'reference/left-pods.json'), 'utf8')) as {
  node: string;
  pods: Record<string, { manifest: LeftManifest; left: LeftPod }>;
};
const { node } = reference;
const pods = Object.entries(reference.pods);

/** State files of the reference, which must not change. */
const STATE = {
  cpu_manager_state: '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
  memory_manager_state: '{"policyName":"None","machineState":{},"checksum":4236770233}',
  allocated_pods_state: '{"data":"{\\"entries\\":{}}","checksum":1}',
  actuated_pods_state: '{"data":"{\\"entries\\":{}}","checksum":1}',
};

let machine: KubeletMachine;
let flags: string[];
let agent: RunningCommand;

beforeAll(async () => {
  machine = await KubeletMachine.start();
  const own = await machine.configure({
    authentication: { webhook: { enabled: false }, anonymous: { enabled: true } },
    authorization: { mode: 'AlwaysAllow' },
  });
  flags = [...own, `--hostname-override=${node}`, '--runtime-handler='];
});
afterAll(() => machine.remove());

function manifestPath(name: string): string {
  return join(machine.folder, 'manifests', `${name}.yaml`);
}

/** The UID that either agent gives the pod on this machine. */
function uidOf(name: string, manifest: object): string {
  const [decoded] = decodeManifest(JSON.stringify(manifest)).pods;
  if (decoded === undefined) throw new Error(`${name} is no pod`);
  const origin = { source: 'file', path: manifestPath(name), node, seenAt: '' } as const;
  return staticPod(decoded.pod, origin).metadata.uid;
}

/** The response of the node’s API to the API server. */
function ask(path: string, ...options: string[]): Promise<string> {
  const url = `https://127.0.0.1:10250${path}`;
  return runCommand(machine.runtime.inside(['curl', '--silent', '--insecure', '--fail', ...options, url]));
}

interface ReportedPod {
  metadata: { name: string; uid: string };
  status: {
    phase: string;
    containerStatuses?: { name: string; ready: boolean; restartCount: number; state: object; lastState: object }[];
  };
}

/** The pods in the node's API, once all have reached the state that they had under the reference. */
function reportedPods(): Promise<Map<string, ReportedPod>> {
  return poll('the pods are as they were', async () => {
    const list = JSON.parse(await ask('/pods')) as { items: ReportedPod[] };
    const known = new Map(list.items.map((one) => [one.metadata.name, one]));
    const done = pods.every(([name, { left }]) => {
      const { phase, containerStatuses = [] } = known.get(`${name}-${node}`)?.status ?? {};
      if (left.sandbox.state === 'SANDBOX_NOTREADY') return phase === 'Succeeded';
      return (
        phase === 'Running' &&
        containerStatuses.every(({ name: container, ready, restartCount }) => {
          return ready && restartCount === lastAttempt(left, container);
        })
      );
    });
    return done ? known : undefined;
  });
}

function lastAttempt({ containers }: LeftPod, container: string): number {
  return Math.max(...containers.filter(({ name }) => name === container).map(({ attempt }) => attempt));
}

/** Every sandbox and container with its ID, attempt, and times of creation and start. */
async function runs(): Promise<string[]> {
  const { socket } = machine.runtime;
  const { items = [] } = await callCriOnce(socket, 'ListPodSandbox', {});
  const { containers = [] } = await callCriOnce(socket, 'ListContainers', {});
  const started = await Promise.all(
    containers.map(async ({ id = '', metadata, labels, state }) => {
      const { status } = await callCriOnce(socket, 'ContainerStatus', { containerId: id });
      const words = [
        labels?.['io.kubernetes.pod.name'],
        metadata?.name,
        metadata?.attempt,
        id,
        state,
        status?.startedAt,
      ];
      return words.join(' ');
    }),
  );
  const made = items.map(({ id, metadata, state, createdAt }) => [metadata?.name, id, state, createdAt].join(' '));
  return [...made, ...started].sort();
}

/** The mounts below the pods' folders: a volume that was mounted again would be listed twice. */
async function mounts(): Promise<string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.filter((line) => line.includes(join(machine.folder, 'kubelet/pods')));
}

describe('a pod left by the reference kubelet', () => {
  let before: { runs: string[]; mounts: string[] };

  test('keeps running, and is reported as the reference did', async () => {
    await leaveRootFolder(machine);
    for (const [name, { manifest, left }] of pods) {
      await machine.write(`manifests/${name}.yaml`, manifest);
      await leavePod(machine, manifest, fillPlaceholders(left, machine, uidOf(name, manifest)));
    }
    for (const [name, content] of Object.entries(STATE)) await machine.write(`kubelet/${name}`, content);
    // Checks that the leftovers are those of the reference, on which the rest of the test depends.
    const left = await readLeftPods(machine);
    for (const [name, { left: expected }] of pods) {
      expect(left[`${name}-${node}`]).toEqual({ ...expected, folders: expect.any(Array) });
    }
    before = { runs: await runs(), mounts: await mounts() };

    agent = machine.kubelet(...flags);
    await machine.notified(agent, 'READY=1');
    const now = await reportedPods();
    for (const [name, { manifest }] of pods) {
      expect(now.get(`${name}-${node}`)?.metadata.uid).toBe(uidOf(name, manifest));
    }
    expect(now.get(`restarted-${node}`)?.status.containerStatuses).toMatchObject([
      { restartCount: 1, lastState: { terminated: { exitCode: 3, message: 'first\n' } } },
    ]);
    expect(now.get(`ended-${node}`)?.status.containerStatuses).toMatchObject([
      { restartCount: 0, state: { terminated: { exitCode: 0, message: 'the end\n' } } },
    ]);
  });

  test('is neither restarted nor mounted again, even when other pods are added', async () => {
    await machine.write('manifests/late.yaml', pod('late'));
    const late = await machine.containerOf(`late-${node}`);
    const rest = (await runs()).filter((line) => !line.includes(`late-${node}`));
    expect(late).not.toBe('');
    expect(rest).toEqual(before.runs);
    expect(await mounts()).toEqual(expect.arrayContaining(before.mounts));
    const main = `kube-system/web-${node}/main`;
    expect(await ask(`/containerLogs/${main}`)).toBe('started\n');
    expect(await ask(`/run/${main}?cmd=cat%20/memory/init`, '--request', 'POST')).toBe('memory\n');
    await rm(manifestPath('late'));
  });

  test('ends when its manifest is removed, and leaves nothing mounted', async () => {
    for (const [name] of pods) await rm(manifestPath(name));
    await poll('no containers and no mounts', async () => {
      const { containers = [] } = await callCriOnce(machine.runtime.socket, 'ListContainers', {});
      return (containers.length === 0 && (await mounts()).length === 0) || undefined;
    });
  });
});

describe('a pod created by Kubus', () => {
  test('matches what the reference would create, so that the reference can continue with it', async () => {
    // For a minute an agent goes on counting the runs of static pods that come back unchanged: a new one does not know of them.
    expect((await agent.end()).code).toBe(0);
    agent = machine.kubelet(...flags);
    await machine.notified(agent, 'READY=1');
    for (const [name, { manifest }] of pods) await machine.write(`manifests/${name}.yaml`, manifest);
    await reportedPods();
    expect((await agent.end()).code).toBe(0);
    const left = await readLeftPods(machine);
    for (const [name, { left: expected }] of pods) expect(left[`${name}-${node}`]).toEqual(expected);
  });

  test('keeps running when the agent has ended, and the state of the reference is unchanged', async () => {
    for (const [name, content] of Object.entries(STATE)) {
      expect(await readFile(join(machine.folder, 'kubelet', name), 'utf8')).toBe(content);
    }
    const { containers = [] } = await callCriOnce(machine.runtime.socket, 'ListContainers', {
      filter: { state: { state: 'CONTAINER_RUNNING' } },
    });
    expect(containers).toHaveLength(pods.flatMap(([, { left }]) => left.containers).filter(isRunning).length);
  });
});

function isRunning({ state }: LeftPod['containers'][number]): boolean {
  return state === 'CONTAINER_RUNNING';
}
