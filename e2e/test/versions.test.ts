// A node whose parts are replaced by those of another version, one after the other. In the long form the other version is the
// previous one; if it is not available, the test is skipped with a message. In the quick form it is this one under
// another version's name, and a few parts are replaced.
import { expect, test } from '@jest/globals';
import { type TestNode, checkout, poll, startNode, isSoak, someOf, testSeed } from '@kubus/harness';
import { nodeServices } from '@kubus/service-kit';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordFailure } from '../src/failure-record.ts';
import { Installation, type Part, renamedVersion, versionOf } from '../src/installation.ts';
import { container, pod, podRunning } from '../src/pods.ts';
import { findPreviousVersion } from '../src/previous-version.ts';
import { askedSoFar, askingPod, podStates, readAsked, servingPod } from '../src/undisturbed.ts';

const seed = testSeed('versions');
const previous = isSoak ? await findPreviousVersion() : undefined;
const why = previous !== undefined && 'missing' in previous ? previous.missing : undefined;
if (why !== undefined) process.stderr.write(`versions.test.ts is skipped: ${why}\n`);

/** Two sequences through all parts, each with a pod that is created and removed at each step. */
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

/** Restarts a part whose programs were replaced. */
async function startAgain(node: TestNode, part: Part): Promise<void> {
  if (part !== 'launcher') {
    const { code, stderr } = await node.kubus('restart', part);
    expect([part, code, stderr]).toEqual([part, 0, '']);
    return;
  }
  await node.kill('launcher');
  await node.upAgain();
}

/** Permission errors of the broker in the logs of services. */
async function brokersRefusals(node: TestNode): Promise<string[]> {
  const logs = (await readdir(node.dir.logs)).filter((name) => name.endsWith('.log'));
  const texts = await Promise.all(logs.map((name) => readFile(join(node.dir.logs, name), 'utf8')));
  return texts.flatMap((text) =>
    text.split('\n').filter((line) => /the broker refused (a request|something)/.test(line)),
  );
}

(why === undefined ? test : test.skip)(
  'each part is replaced by the next version’s and then by the previous one’s, and no pod is disturbed',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kubus-versions-'));
    let node: TestNode | undefined;
    try {
      const before = previous !== undefined && 'folder' in previous ? previous.folder : await renamedVersion(folder);
      const versions = { before, now: checkout };
      const installation = await Installation.make(join(folder, 'installed'), versions.before);
      node = await startNode({ program: installation.program, isEarlier: previous !== undefined });
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
        // Every part works for a pod that is created and for one that is removed.
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
      // The launcher writes the permissions and the configuration of the services: it is upgraded first and taken back last.
      const replaced = ['launcher', ...someOf(nodeServices, 2, seed)] as const;
      for (const part of replaced) await replace(part, 'now');
      for (const part of [...replaced].reverse()) await replace(part, 'before');
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
