import { afterEach, expect, test } from '@jest/globals';
import { type TestNode, startNode } from '@kubus/harness';
import type { LifeReport } from '@kubus/replay';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { container, pod, podRunning } from '../src/pods.ts';
import { waitingReason } from '../src/pod-facts.ts';
import { journaled, replayAlone, saveRecord } from '../src/replayed-lives.ts';

let node: TestNode | undefined;
afterEach(async () => {
  const started = node;
  node = undefined;
  await started?.stop();
});

test('a replay publishes the same messages as services of a real node that were killed', async () => {
  node = await startNode({ journal: true, scale: { 'pod-workers': 2 } });
  await liveUnderKills(node);
  const file = await saveRecord(node);
  const reports = await replayAlone(node, file);
  expect(reports.map(({ gap, notCovered }) => [gap, notCovered])).toEqual(reports.map(() => [undefined, 0]));
  for (const instance of journaled) {
    const lives = reports.filter((report) => report.instance === instance);
    expect([instance, lives.length]).toEqual([instance, 2]);
    for (const { epoch, equal } of lives) expect([instance, epoch, equal > 0]).toEqual([instance, epoch, true]);
  }

  // The same from a recording as one file.
  const recording = join(node.folder, 'recorded.kubus');
  expect((await node.kubus('record', 'export', recording)).code).toBe(0);
  const again = await node.kubus('replay', recording, '-o', 'json');
  expect([again.code, again.stderr]).toEqual([0, '']);
  expect((JSON.parse(again.stdout) as { items: LifeReport[] }).items.length).toBe(reports.length);

  // The same file with one changed message: the command shows where.
  const changed = await changeOneWork(file);
  const found = await node.kubus('replay', changed, '--service', 'sync-loop');
  expect(found.code).toBe(1);
  expect(found.stdout).toContain('/reason: "for a change" became ');
});

test('a replay publishes the same messages as services under loss, delay, duplication and reordering', async () => {
  node = await startNode({ journal: true, faults: true });
  await disturb(node);
  const pods = ['a', 'b', 'c'];
  const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };
  for (const name of pods) {
    const probed = { containers: [container({ name: 'main', readinessProbe })] };
    await node.writeManifest(`${name}.json`, pod(name, probed));
  }
  for (const name of pods) await node.watch.waitForPod(name);
  for (const instance of ['pod-workers-0', 'sync-loop-0']) await node.replaced(await node.kill(instance));
  for (const name of pods) await node.removeManifest(`${name}.json`);
  for (const name of pods) await node.watch.waitForNoPod(name);
  expect((await node.kubus('fault', 'clear')).code).toBe(0);

  const file = await saveRecord(node);
  const reports = await replayAlone(node, file);
  expect(reports.map(({ gap, notCovered }) => [gap, notCovered])).toEqual(reports.map(() => [undefined, 0]));
  expect(reports.map(({ instance }) => instance).sort()).toEqual(
    [...journaled.filter((instance) => instance !== 'pod-workers-1'), 'pod-workers-0', 'sync-loop-0'].sort(),
  );
  // Services with a journal were affected by all of these faults.
  const applied = new Set(
    node.watch.messages.ofType('fault.event.faulted').flatMap(({ message }) => {
      const { what, side } = JSON.parse(message.data) as { what: string; side: string };
      return journaled.some((instance) => message.subject.endsWith(`.${instance}`)) ? [`${what} ${side}`] : [];
    }),
  );
  expect([...applied].sort()).toEqual([
    'delay reader',
    'delay sender',
    'drop sender',
    'duplicate sender',
    'reorder reader',
  ]);
  // Messages dropped by faults were published by the services, but cannot be compared.
  expect(reports.reduce((sum, { unrecorded }) => sum + unrecorded, 0)).toBeGreaterThan(0);
});

/** Injects every kind of fault that pods survive into the messages of services. */
async function disturb(started: TestNode): Promise<void> {
  const rules = [
    ['drop', 'runtime.cmd.>', '--every', '3'],
    ['duplicate', '>', '--source', 'sync-loop'],
    ['delay', 'worker.>', '--by', '10ms', '--jitter', '20ms'],
    ['delay', '>', '--by', '5ms', '--jitter', '20ms', '--reader', 'pod-workers'],
    ['reorder', '>', '--window', '3', '--hold', '200ms', '--reader', 'sync-loop'],
  ];
  for (const rule of rules) {
    const { code, stderr } = await started.kubus('fault', ...rule);
    expect([code, stderr]).toEqual([0, '']);
  }
}

/** Pods are created, probed, crash and are removed while every service with a journal is killed once. */
async function liveUnderKills(node: TestNode): Promise<void> {
  const exec = { exec: { command: ['true'] }, periodSeconds: 1 };
  const refused = { tcpSocket: { port: 1 }, periodSeconds: 1 };
  const add = (name: string) =>
    node.writeManifest(`${name}.json`, pod(name, { containers: [container({ name: 'main', readinessProbe: exec })] }));
  await node.writeManifest('crash.json', podRunning('crash', 'exit 1'));
  const never = { containers: [container({ name: 'main', readinessProbe: refused })] };
  await node.writeManifest('never-ready.json', pod('never-ready', never));
  for (const [index, instance] of journaled.entries()) {
    const name = `pod-${index}`;
    await add(name);
    await node.replaced(await node.kill(instance));
    // Each second life has something to do, and its journal is in the record.
    await node.watch.waitForPod(name);
  }
  await node.watch.waitForPod('crash', (one) => waitingReason(one) === 'CrashLoopBackOff', 'waiting');
  for (const name of ['pod-0', 'pod-1']) await node.removeManifest(`${name}.json`);
  for (const name of ['pod-0', 'pod-1']) await node.watch.waitForNoPod(name);
}

async function changeOneWork(file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  const index = lines.findIndex((line) => line.includes('"Kubus-Type":"sync.fact.pod/') && line.includes('"reason":'));
  lines[index] = (lines[index] ?? '').replace(/"reason":"[^"]*"/, '"reason":"for a change"');
  const changed = `${file}.changed`;
  await writeFile(changed, lines.join('\n'));
  return changed;
}
