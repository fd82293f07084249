import { expect } from '@jest/globals';
import { type TestNode, isReady, poll } from '@kubus/harness';
import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sharedNode } from '../src/node-tests.ts';
import { containerStatus } from '../src/pod-facts.ts';
import { container, pod, shell } from '../src/pods.ts';

/** Left by an earlier pod, long enough ago that no pod can be starting with it. */
const orphan = 'default_gone_00000000-0000-0000-0000-000000000000';
const longAgo = new Date('2020-01-01T00:00:00Z');

const onNode = sharedNode('logs', {
  prepare: async ({ logLinks, podLogs }) => {
    const folder = join(podLogs, orphan, 'main');
    await mkdir(folder, { recursive: true });
    await mkdir(logLinks, { recursive: true });
    await writeFile(join(folder, '0.log'), '');
    await symlink(join(folder, '0.log'), join(logLinks, 'gone.log'));
    for (const path of [folder, join(podLogs, orphan)]) await utimes(path, longAgo, longAgo);
  },
});

/** Number of lines in one round: with the runtime's prefix of each line, more than the size limit of a log. */
const ROUND = 1_000;
const ROUNDS = 6;
const logs = { maxSize: 64 * 1024, maxFiles: 4, monitorEveryMs: 200, workers: 1 };

/** Line number `index`. Its length divides the runtime's read size, so that no line is split. */
const text = (index: number) => `${String(index).padStart(63, '0')}\n`;
const texts = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => text(first + index)).join('');

/**
 * Writes a round of lines for each word it reads, and fails when it reads `end`. It reads until the word's sender has ended, which otherwise could
 * end the next read, or be killed with the container.
 */
const writer = `mkfifo /input; i=0; while word=$(cat /input); do
  [ "$word" = end ] && exit 3
  left=${ROUND}; while [ $left -gt 0 ]; do i=$((i + 1)); left=$((left - 1)); printf '%063d\\n' $i; done
done`;

onNode(
  'a log is rotated while it is followed, no line is lost, and all its files are removed with the pod',
  async (node) => {
    await node.reconfigure((config) => ({ ...config, logs }));
    await node.restart('pod-workers-0');
    const containers = [container({ name: 'main', command: shell(writer) }), container({ name: 'other' })];
    await node.writeManifest('writer.json', pod('writer', { containers }));
    const { ref } = await node.watch.waitForPod('writer');
    const folder = join(node.dir.podLogs, `${ref.namespace}_${ref.name}_${ref.uid}`, 'main');
    const send = async (word: string) => {
      const write = `until [ -p /input ]; do sleep 0.1; done; exec echo ${word} > /input`;
      const { code } = await node.kubus('exec', 'writer', '-c', 'main', '--', 'sh', '-c', write);
      expect(code).toBe(0);
    };

    const following = node.startKubus('logs', '-f', 'writer', 'main');
    try {
      let newest = '';
      for (let round = 1; round <= ROUNDS; round++) {
        await send('more');
        await following.waitForOutput(new RegExp(text(ROUND * round)));
        newest = await poll(`rotation ${round}`, async () => {
          const last = (await rotatedFiles(folder)).at(-1)?.replace('.gz', '') ?? '';
          return last > newest ? last : undefined;
        });
      }
      // Besides the log, two compressed files and the last rotated one.
      await poll('the files that the log may have', async () => {
        const endings = (await rotatedFiles(folder)).map((file) => file.replace(/^.*\d{8}-\d{6}/, ''));
        return endings.join() === '.gz,.gz,' ? true : undefined;
      });

      await send('end');
      expect(await following.outcome).toEqual({ code: 0, stdout: texts(1, ROUND * ROUNDS), stderr: '' });
    } finally {
      await following.end();
    }

    await node.watch.waitForPod('writer', (one) => isReady(one) && containerStatus(one, 'main')?.restartCount === 1);
    await checkViews(node);
    await node.removeManifest('writer.json');
    await node.watch.waitForNoPod('writer');
    const left = async () => [...(await readdir(node.dir.podLogs)), ...(await readdir(node.dir.logLinks))];
    await poll('nothing of any log is left', async () => ((await left()).length === 0 ? true : undefined));
  },
);

/** The output of kubectl's options for the previous and the current run. */
async function checkViews(node: TestNode): Promise<void> {
  const last = ROUND * ROUNDS;
  const shown = async (...options: string[]) => {
    const { code, stdout, stderr } = await node.kubus('logs', 'writer', ...options);
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };
  // Old lines are removed, in whole files; the remaining ones reach far back beyond the newest file.
  const kept = (await shown('main', '-p')).length / text(0).length;
  expect(kept).toBeGreaterThan(ROUND);
  expect(kept).toBeLessThan(last);
  expect(await shown('main', '-p')).toBe(texts(last - kept + 1, last));
  expect(await shown('main', '--previous', '--tail', String(kept - 1))).toBe(texts(last - kept + 2, last));

  const [line = ''] = (await shown('main', '-p', '--timestamps', '--tail', '3')).split('\n');
  const [time = ''] = line.split(' ');
  expect(await shown('main', '-p', '--since-time', time)).toBe(texts(last - 2, last));
  expect(await shown('main', '-p', '--tail', '1', '--limit-bytes', '10')).toBe(text(last).slice(0, 10));
  expect(await shown('main', '-p', '--since', '1h', '--tail', '1')).toBe(text(last));
  expect(await shown('--all-containers', '--prefix')).toBe(`[pod/writer-${node.name}/other] started\n`);
}

/** The rotated files of a log, the oldest first. */
async function rotatedFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((file) => /^0\.log\.[-\d]+(\.gz)?$/.test(file)).sort();
}
