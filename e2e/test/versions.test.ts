// A node whose parts are replaced by those of another version, one after the other. Where the version before can not be had,
// the test says so and is skipped.
import { expect, test } from '@jest/globals';
import { type TestNode, checkout, poll, startNode } from '@kubus/harness';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordFailure } from '../src/failure-record.ts';
import { Installation, type Part, parts, versionOf } from '../src/installation.ts';
import { container, pod, podRunning } from '../src/pods.ts';
import { findPreviousVersion } from '../src/previous-version.ts';
import { askedSoFar, askingPod, podStates, readAsked, servingPod } from '../src/undisturbed.ts';

const previous = await findPreviousVersion();
const why = 'missing' in previous ? previous.missing : undefined;
if (why !== undefined) process.stderr.write(`versions.test.ts is skipped: ${why}\n`);

/** Two ways through all parts, each with a pod that comes and goes at each step. */
const LIMIT_MS = 900_000;

const staying = ['serves', 'asks', 'plain', 'done'];

async function startPods(node: TestNode): Promise<void> {
  await node.writeManifest('serves.json', servingPod('serves'));
  const { status } = await node.watch.waitForPod('serves');
  await node.writeManifest('asks.json', askingPod('asks', status?.podIP ?? ''));
  await node.writeManifest(
    'plain.json',
    pod('plain', { containers: [container({ name: 'one' }), container({ name: 'two' })] }),
  );
  await node.writeManifest('done.json', podRunning('done', 'exit 0', { restartPolicy: 'OnFailure' }));
  for (const name of ['asks', 'plain']) await node.watch.waitForPod(name);
  await node.watch.waitForPod('done', ({ status: own }) => own?.phase === 'Succeeded');
}

/** Resolves with the number of requests that were answered once it has grown; none may have failed. */
function answeredSince(node: TestNode, before: number): Promise<number> {
  return poll(`more than ${before} answers`, async () => {
    const { code, stdout, stderr } = await node.kubus('exec', `asks-${node.name}`, '--', ...askedSoFar);
    expect([code, stderr]).toEqual([0, '']);
    const { answered, failed } = readAsked(stdout);
    expect(failed).toBe(0);
    return answered > before ? answered : undefined;
  });
}

/** Starts a part again, of which other programs were put into the installation. */
async function startAgain(node: TestNode, part: Part): Promise<void> {
  if (part !== 'launcher') {
    const { code, stderr } = await node.kubus('restart', part);
    expect([part, code, stderr]).toEqual([part, 0, '']);
    return;
  }
  await node.kill('launcher');
  await node.upAgain();
}

/** What services have written to their logs of what the broker did not let them do. */
async function brokersRefusals(node: TestNode): Promise<string[]> {
  const logs = (await readdir(node.dir.logs)).filter((name) => name.endsWith('.log'));
  const texts = await Promise.all(logs.map((name) => readFile(join(node.dir.logs, name), 'utf8')));
  return texts.flatMap((text) => text.split('\n').filter((line) => line.includes('the broker refused something')));
}

(why === undefined ? test : test.skip)(
  'each part is replaced by the next version’s and then by the one before, and no pod is disturbed',
  async () => {
    if ('missing' in previous) return;
    const versions = { before: previous.folder, now: checkout };
    const folder = await mkdtemp(join(tmpdir(), 'kubus-versions-'));
    let node: TestNode | undefined;
    try {
      const installation = await Installation.make(folder, versions.before);
      node = await startNode({ program: installation.program });
      const { watch } = node;
      await startPods(node);
      const states = podStates(node, staying);
      expect(states.map(({ name }) => name)).toEqual(staying);
      expect(states.map(({ readySince }) => readySince)).toEqual(staying.map(() => expect.stringMatching(/Z$/)));
      let answered = 0;

      const replace = async (part: Part, version: keyof typeof versions) => {
        if (node === undefined) return;
        await installation.put(part, versions[version]);
        await startAgain(node, part);
        const instance = `${part}-0`;
        const wanted = await versionOf(part, versions[version]);
        await watch.until(
          `${instance} of version ${wanted}`,
          () => watch.instance(instance)?.version === wanted || undefined,
        );
        // Every part does its work for a pod that comes and for one that goes.
        const name = `${version}-${part}`;
        await node.writeManifest('new.json', pod(name));
        await watch.waitForPod(name);
        await node.removeManifest('new.json');
        await watch.waitForNoPod(name);
        expect(podStates(node, staying)).toEqual(states);
        answered = await answeredSince(node, answered);
        expect(watch.messages.ofType('service.event.refused').map(({ message }) => message.data)).toEqual([]);
        expect(await brokersRefusals(node)).toEqual([]);
      };
      // The launcher has the rights of the services and their configuration written: it is the first to come and the last to go.
      for (const part of parts) await replace(part, 'now');
      for (const part of [...parts].reverse()) await replace(part, 'before');
    } catch (error) {
      if (node === undefined) throw error;
      const where = await recordFailure(node, 'versions', String(error));
      throw new Error(`the messages and logs of the node are in ${where}`, { cause: error });
    } finally {
      await node?.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
  LIMIT_MS,
);
