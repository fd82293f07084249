import { afterEach, expect, test } from '@jest/globals';
import { type TestNode, checkout, startNode } from '@kubus/harness';
import type { LifeReport } from '@kubus/replay';
import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { recordFailure } from '../src/failure-record.ts';
import { KillRun } from '../src/kill-run.ts';
import { container, pod, podRunning } from '../src/pods.ts';
import { waitingReason } from '../src/pod-facts.ts';

const run = promisify(execFile);
const journaled = ['config-sources-0', 'sync-loop-0', 'pod-workers-0', 'pod-workers-1', 'prober-0'] as const;

let node: TestNode | undefined;
afterEach(async () => {
  const started = node;
  node = undefined;
  await started?.stop();
});

test('what killed services of a real node said is said again from the recording alone, without a difference', async () => {
  node = await startNode({ journal: true, scale: { 'pod-workers': 2 } });
  await liveUnderKills(node);
  const file = await saveRecord(node);
  const reports = await replayAlone(file);
  await keepFailure(node, reports, file);
  expect(reports.map(({ difference }) => difference)).toEqual(reports.map(() => undefined));
  expect(reports.map(({ gap, notCovered }) => [gap, notCovered])).toEqual(reports.map(() => [undefined, 0]));
  for (const instance of journaled) {
    const lives = reports.filter((report) => report.instance === instance);
    expect([instance, lives.length]).toEqual([instance, 2]);
    for (const { epoch, equal } of lives) expect([instance, epoch, equal > 0]).toEqual([instance, epoch, true]);
  }
  say(reports);

  // The same from a recording as one file.
  const recording = join(node.folder, 'recorded.kubus');
  expect((await node.kubus('record', 'export', recording)).code).toBe(0);
  const again = await node.kubus('replay', recording, '-o', 'json');
  expect([again.code, again.stderr]).toEqual([0, '']);
  expect((JSON.parse(again.stdout) as LifeReport[]).length).toBe(reports.length);

  // The same file with one message that is another one: the command shows where.
  const changed = await changeOneWork(file);
  const found = await node.kubus('replay', changed, '--service', 'sync-loop');
  expect(found.code).toBe(1);
  expect(found.stdout).toContain('/reason: "for a change" became ');
});

test('nor does what services said while NATS and containerd were killed as well', async () => {
  node = await startNode({ journal: true, scale: { 'pod-workers': 2, prober: 2 } });
  await new KillRun(node, 1).run();
  const file = await saveRecord(node);
  const reports = await replayAlone(file);
  await keepFailure(node, reports, file);
  // What dies with NATS before it is stored may leave a gap; a difference it can not make.
  expect(reports.map(({ difference }) => difference)).toEqual(reports.map(() => undefined));
  expect(reports.reduce((sum, { equal }) => sum + equal, 0)).toBeGreaterThan(1_000);
  say(reports);
});

test('nor does what services said while their messages were lost, late, doubled and out of order', async () => {
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
  const reports = await replayAlone(file);
  await keepFailure(node, reports, file);
  expect(reports.map(({ difference }) => difference)).toEqual(reports.map(() => undefined));
  expect(reports.map(({ gap, notCovered }) => [gap, notCovered])).toEqual(reports.map(() => [undefined, 0]));
  expect(reports.map(({ instance }) => instance).sort()).toEqual(
    [...journaled.filter((instance) => instance !== 'pod-workers-1'), 'pod-workers-0', 'sync-loop-0'].sort(),
  );
  say(reports);
  // Services with a journal were disturbed in all of these ways.
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
  // What was lost on purpose the services have said, and nobody can compare.
  expect(reports.reduce((sum, { unrecorded }) => sum + unrecorded, 0)).toBeGreaterThan(0);
});

/** Disturbs, in every way that pods get over, what services say and hear. */
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

/** Writes what the node has recorded into a file. */
async function saveRecord(started: TestNode): Promise<string> {
  const { code, stdout, stderr } = await started.kubus('tail', '--recorded', '--output', 'json');
  expect([code, stderr]).toEqual([0, '']);
  const file = join(started.folder, 'messages.jsonl');
  await writeFile(file, stdout);
  return file;
}

/** Keeps the recording of lives that were not replayed as a whole and without a difference. */
async function keepFailure(started: TestNode, reports: readonly LifeReport[], file: string): Promise<void> {
  const isWhole = ({ difference, gap, notCovered }: LifeReport) =>
    difference === undefined && gap === undefined && notCovered === 0;
  if (reports.every(isWhole)) return;
  const folder = await recordFailure(started, 'replay', JSON.stringify(reports, undefined, 2));
  await copyFile(file, join(folder, 'recorded.jsonl'));
}

/** Pods come, are probed, crash and go while every service that keeps a journal is killed once. */
async function liveUnderKills(node: TestNode): Promise<void> {
  const exec = { exec: { command: ['true'] }, periodSeconds: 1 };
  const refused = { tcpSocket: { port: 1 }, periodSeconds: 1 };
  const names = ['a', 'b', 'c', 'd'];
  const add = (name: string) =>
    node.writeManifest(`${name}.json`, pod(name, { containers: [container({ name: 'main', readinessProbe: exec })] }));
  await node.writeManifest('crash.json', podRunning('crash', 'exit 1'));
  const never = { containers: [container({ name: 'main', readinessProbe: refused })] };
  await node.writeManifest('never-ready.json', pod('never-ready', never));
  for (const instance of journaled) {
    const name = names.shift();
    if (name !== undefined) await add(name);
    await node.replaced(await node.kill(instance));
    if (name !== undefined) await node.watch.waitForPod(name);
  }
  await node.watch.waitForPod('crash', (one) => waitingReason(one) === 'CrashLoopBackOff', 'waiting');
  for (const name of ['a', 'b']) await node.removeManifest(`${name}.json`);
  for (const name of ['a', 'b']) await node.watch.waitForNoPod(name);
}

/** In a process with nothing but the file: no environment, no network, no clock. */
async function replayAlone(file: string): Promise<LifeReport[]> {
  const program = join(checkout, 'e2e/src/replay-alone.ts');
  const { stdout } = await run(
    '/usr/bin/unshare',
    ['--net', process.execPath, '--disable-warning=ExperimentalWarning', program, file],
    { env: {}, maxBuffer: 1 << 28 },
  );
  return JSON.parse(stdout) as LifeReport[];
}

async function changeOneWork(file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  const index = lines.findIndex((line) => line.includes('"Kubus-Type":"sync.fact.pod/') && line.includes('"reason":'));
  lines[index] = (lines[index] ?? '').replace(/"reason":"[^"]*"/, '"reason":"for a change"');
  const changed = `${file}.changed`;
  await writeFile(changed, lines.join('\n'));
  return changed;
}

function say(reports: readonly LifeReport[]): void {
  const lines = reports.map(
    ({ instance, epoch, inputs, equal, unrecorded }) =>
      `${instance} epoch ${epoch}: ${inputs} inputs, ${equal} messages equal, ${unrecorded} not recorded`,
  );
  process.stderr.write(`${lines.join('\n')}\n`);
}
