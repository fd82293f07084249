import { expect } from '@jest/globals';
import { type TestNode, checkout, isReady, poll, takeSlot } from '@kubus/harness';
import { freePort } from '@kubus/launcher';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { healthOf } from '../../src/health.ts';
import { Inspector } from '../../src/inspector.ts';
import { onNode } from './node.ts';
import { containerStatus, waitingReason } from '../../src/pod-facts.ts';
import { container, pod, podRunning } from '../../src/pods.ts';

const names = ['a', 'b', 'c', 'd', 'e', 'f'];

/** Long-running pods with probes, and one that keeps crashing. */
async function startPods(node: TestNode): Promise<void> {
  const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };
  const probed = { containers: [container({ name: 'main', readinessProbe })] };
  for (const name of names) await node.writeManifest(`${name}.json`, pod(name, probed));
  await node.writeManifest('crash.json', podRunning('crash', 'exit 1'));
  for (const name of names) await node.watch.waitForPod(name);
  await node.watch.waitForPod('crash', (one) => waitingReason(one) === 'CrashLoopBackOff', 'waiting');
}

/** The container and restart count of each long-running pod. */
function runs(node: TestNode): string[] {
  return names.map((name) => {
    const [one] = node.watch.podsNamed(name);
    const { containerID, restartCount, ready } = (one && containerStatus(one)) ?? {};
    return `${name} ${containerID ?? ''} ${restartCount ?? ''} ${String(ready)}`;
  });
}

/** Pods that instances of a service have, as `kubus status` shows them. */
async function podsOf(node: TestNode, service: string): Promise<Record<string, number | undefined>> {
  const { services } = await healthOf(node);
  const own = services.filter(({ instance }) => instance.startsWith(`${service}-`));
  return Object.fromEntries(own.map(({ instance, pods }) => [instance, pods]));
}

const sum = (pods: Record<string, number | undefined>) => Object.values(pods).reduce((a = 0, b = 0) => a + b, 0);

/** Waits until an instance has no pods, by the assignments of sync-loop and by the published statuses. */
async function movedFrom(node: TestNode, instance: string): Promise<void> {
  await node.watch.until(`no pod with ${instance}`, () =>
    node.watch.pods.some(({ work }) => work?.worker === instance) ? undefined : true,
  );
}

onNode('instances are added, lost and removed without affecting containers', async (node) => {
  await startPods(node);
  const before = runs(node);
  const scaled = await node.kubus('scale', 'pod-workers', '3');
  expect([scaled.code, scaled.stdout]).toEqual([
    0,
    'pod-workers runs as pod-workers-0, pod-workers-1, pod-workers-2\n',
  ]);
  expect((await node.kubus('scale', 'prober', '2')).code).toBe(0);
  for (const [service, instances] of [
    ['pod-workers', 3],
    ['prober', 2],
  ] as const) {
    const pods = await podsOf(node, service);
    expect([Object.keys(pods).length, sum(pods)]).toEqual([instances, names.length + 1]);
  }

  // One that is killed and cannot restart, since another process has its slot.
  const slot = await takeSlot(node.dir.state('pod-workers'), 1, () => node.kill('pod-workers-1'));
  try {
    await movedFrom(node, 'pod-workers-1');
    for (const name of ['a', 'b', 'c']) await node.removeManifest(`${name}.json`);
    for (const name of ['a', 'b', 'c']) await node.watch.waitForNoPod(name);
  } finally {
    slot.release();
  }
  const left = before.slice(3);
  expect(runs(node).slice(3)).toEqual(left);

  for (const service of ['pod-workers', 'prober']) expect((await node.kubus('scale', service, '1')).code).toBe(0);
  await movedFrom(node, 'pod-workers-2');
  expect(await podsOf(node, 'pod-workers')).toEqual({ 'pod-workers-0': 4 });
  const crashed = await node.watch.waitForPod(
    'crash',
    (one) => (containerStatus(one)?.restartCount ?? 0) >= 2,
    'again',
  );
  expect(containerStatus(crashed)?.lastState?.terminated?.exitCode).toBe(1);
  expect(runs(node).slice(3)).toEqual(left);
  const tooMany = await node.kubus('scale', 'prober', '1000');
  expect([tooMany.code, tooMany.stderr]).toEqual([1, expect.stringContaining('too many for this machine')]);
  expect(await podsOf(node, 'prober')).toEqual({ 'prober-0': 4 });
  expect((await node.kubus('scale', 'sync-loop', '2')).stderr).toContain('sync-loop always has one instance');
});

onNode('a service runs from its sources under the inspector, and stops at a breakpoint', async (node) => {
  await node.writeManifest('before.json', pod('before'));
  const before = containerStatus(await node.watch.waitForPod('before'));
  const port = await freePort();
  const debug = node.startKubus('debug', 'pod-workers', '--port', String(port));
  try {
    await poll('the inspector', () =>
      Promise.resolve(/Debugger listening/.test(debug.written.stderr) ? true : undefined),
    );
    const inspector = await Inspector.attach(port);
    try {
      await inspector.call('Debugger.enable');
      const source = join(checkout, 'services/pod-workers/src/sync/sync-pod.ts');
      const url = pathToFileURL(source).href;
      const { scriptId } = await inspector.event('Debugger.scriptParsed', (script) => script['url'] === url);
      const lineNumber = lineOf(source, /^export async function syncPod/) + 1;
      const set = await inspector.call('Debugger.setBreakpointByUrl', { url, lineNumber });
      expect(set['locations']).toHaveLength(1);
      await node.writeManifest('after.json', pod('after'));
      const { callFrames } = await inspector.event('Debugger.paused');
      const location = expect.objectContaining({ scriptId, lineNumber }) as unknown;
      expect((callFrames as unknown[])[0]).toMatchObject({ functionName: 'syncPod', location });
      await inspector.call('Debugger.disable');
      await node.watch.waitForPod('after');
    } finally {
      inspector.close();
    }
    const bundled = await node.watch.until('the one under the debugger', () => node.watch.instance('pod-workers-0'));
    const { code, stderr } = await debug.end();
    expect([code, stderr]).toEqual([0, expect.stringContaining('the bundled pod-workers-0 is ready again')]);
    expect(node.watch.instance('pod-workers-0')?.epoch).toBeGreaterThan(bundled.epoch);
  } finally {
    await debug.end();
  }
  const after = containerStatus(await node.watch.waitForPod('before'));
  expect([after?.containerID, after?.restartCount]).toEqual([before?.containerID, 0]);
});

onNode('containerd is restarted when it is killed, without affecting pods', async (node) => {
  await startPods(node);
  const before = runs(node);
  const killed = await node.kill('containerd');
  const next = await node.replaced(killed);
  expect(next.pid).not.toBe(killed.pid);
  await poll('containerd', () => node.cri('Version', {}).catch(() => undefined));
  await node.writeManifest('late.json', pod('late'));
  await node.watch.waitForPod('late');
  await node.watch.until('all pods as before', () => (runs(node).join() === before.join() ? true : undefined));
  for (const name of names) {
    expect(isReady(await node.watch.waitForPod(name))).toBe(true);
  }
  await poll('a healthy node', async () => ((await healthOf(node)).healthy ? true : undefined));
});

function lineOf(file: string, pattern: RegExp): number {
  const line = readFileSync(file, 'utf8')
    .split('\n')
    .findIndex((text) => pattern.test(text));
  if (line < 0) throw new Error(`${file} has no line ${String(pattern)}`);
  return line;
}
