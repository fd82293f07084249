import { execFile } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { type TestNode, checkout } from '@kubus/harness';
import type { LifeReport } from '@kubus/replay';
import { recordFailure } from './failure-record.ts';

const run = promisify(execFile);

/** The services that keep journals on a node with two instances of pod-workers. */
export const journaled = ['config-sources-0', 'sync-loop-0', 'pod-workers-0', 'pod-workers-1', 'prober-0'] as const;

/** Writes what the node has recorded into a file, and returns its path. */
export async function saveRecord(node: TestNode): Promise<string> {
  const { code, stdout, stderr } = await node.kubus('tail', '--recorded', '--output', 'json');
  expect([code, stderr]).toEqual([0, '']);
  const file = join(node.folder, 'messages.jsonl');
  await writeFile(file, stdout);
  return file;
}

/**
 * Replays each service of a file of recorded messages, in a process with nothing but the file: no environment, no network.
 * Expects that each publishes what it published then; keeps the recording of one that was not replayed completely, or differs.
 */
export async function replayAlone(node: TestNode, file: string): Promise<LifeReport[]> {
  const program = join(checkout, 'e2e/src/replay-alone.ts');
  const { stdout } = await run(
    '/usr/bin/unshare',
    ['--net', process.execPath, '--disable-warning=ExperimentalWarning', program, file],
    { env: {}, maxBuffer: 1 << 28 },
  );
  const reports = JSON.parse(stdout) as LifeReport[];
  const isWhole = ({ difference, gap, notCovered }: LifeReport) =>
    difference === undefined && gap === undefined && notCovered === 0;
  if (!reports.every(isWhole)) {
    const folder = await recordFailure(node, 'replay', JSON.stringify(reports, undefined, 2));
    await copyFile(file, join(folder, 'recorded.jsonl'));
  }
  const lines = reports.map(
    ({ instance, epoch, inputs, equal, unrecorded }) =>
      `${instance} epoch ${epoch}: ${inputs} inputs, ${equal} messages equal, ${unrecorded} not recorded`,
  );
  process.stderr.write(`${lines.join('\n')}\n`);
  expect(reports.map(({ difference }) => difference)).toEqual(reports.map(() => undefined));
  return reports;
}
