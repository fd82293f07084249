// What the machine does not give any more: a disk that takes writes, room on it, file descriptors. No service ends, no pod either.
import { expect } from '@jest/globals';
import { type TestNode, isReady, poll } from '@kubus/harness';
import { runCommand } from '@kubus/launcher';
import { hasErrno } from '@kubus/ports';
import { rmSync, writeFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { healthOf } from '../src/health.ts';
import { sharedNode } from '../src/node-tests.ts';
import { containerStatus } from '../src/pod-facts.ts';
import { pod } from '../src/pods.ts';

const onNode = sharedNode('machine-limits', {
  // The state folders are on a small disk of their own.
  prepare: async (dir) => {
    await runCommand(['mount', '-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'state', dir.state('.')]);
  },
});

interface Status {
  readonly services: readonly { readonly instance: string; readonly problems: readonly string[] }[];
}

async function problems(node: TestNode): Promise<string[]> {
  const { services } = JSON.parse((await node.kubus('status', '-o', 'json')).stdout) as Status;
  return services.flatMap(({ instance, problems: found }) => found.map((problem) => `${instance}: ${problem}`));
}

async function waitHealthy(node: TestNode): Promise<void> {
  await poll('a healthy node', async () => ((await healthOf(node)).healthy ? true : undefined));
}

/** The processes of the node, by name. */
async function pids(node: TestNode): Promise<string[]> {
  const names = await readdir(node.dir.processes);
  const records = names.filter((name) => name.endsWith('.json')).sort();
  return Promise.all(records.map((name) => readFile(join(node.dir.processes, name), 'utf8')));
}

/** Runs `during` beside a pod; afterwards the node is healthy, runs another pod, and no process of it and no container was started again. */
async function withoutLosses(node: TestNode, name: string, during: () => Promise<void>): Promise<void> {
  await node.writeManifest(`${name}.json`, pod(name));
  const { ref, status } = await node.watch.waitForPod(name);
  await waitHealthy(node);
  const before = await pids(node);
  await during();
  await waitHealthy(node);
  await node.writeManifest(`${name}-after.json`, pod(`${name}-after`));
  await node.watch.waitForPod(`${name}-after`);
  const after = await node.watch.waitForPod(name, (one) => isReady(one) && one.ref.uid === ref.uid);
  expect(containerStatus(after)).toEqual(status?.containerStatuses?.[0]);
  expect(await pids(node)).toEqual(before);
}

onNode(
  'a node whose state folder becomes read-only names it, and goes on when it can be written again',
  async (node) => {
    const states = node.dir.state('.');
    await withoutLosses(node, 'read-only', async () => {
      await runCommand(['mount', '--bind', states, states]);
      await runCommand(['mount', '-o', 'remount,bind,ro', states]);
      try {
        const named = `disk: ${node.dir.state('sync-loop')} is on a file system that is read-only (EROFS)`;
        const found = await problems(node);
        expect(found.filter((problem) => problem.includes('(EROFS)')).length).toBeGreaterThan(8);
        expect(found).toContainEqual(expect.stringContaining(`sync-loop-0: ${named}`));
      } finally {
        await runCommand(['umount', '--lazy', states]);
      }
    });
  },
);

/** Leaves a process no file descriptor: what is open stays. Returns how many it has, and what gives it the others again. */
async function takeDescriptors(
  node: TestNode,
  what: string,
): Promise<{ had: number; giveBack: () => Promise<string> }> {
  const { pid } = (await node.process(what)) ?? {};
  const limits = await readFile(`/proc/${pid}/limits`, 'utf8');
  const before = /Max open files\s+(\d+)/.exec(limits)?.[1] ?? '';
  const limit = (count: string) => runCommand(['prlimit', '--pid', String(pid), `--nofile=${count}:`]);
  // The first number that is free: what is opened next fails.
  const open = new Set((await readdir(`/proc/${pid}/fd`)).map(Number));
  let free = 0;
  while (open.has(free)) free += 1;
  await limit(String(free));
  return { had: free, giveBack: () => limit(before) };
}

onNode('a service without file descriptors says so, and goes on when it has some again', async (node) => {
  await withoutLosses(node, 'descriptors', async () => {
    const { had, giveBack } = await takeDescriptors(node, 'sync-loop-0');
    try {
      const said = await poll('the problem', async () =>
        (await problems(node)).find((one) => one.startsWith('sync-loop-0: file descriptors')),
      );
      expect(said).toBe(
        `sync-loop-0: file descriptors: no file descriptor of ${had} is left (EMFILE): raise the limit (LimitNOFILE= of the unit, "ulimit -n" before the start) and restart the service`,
      );
    } finally {
      await giveBack();
    }
  });
});

for (const what of ['launcher', 'nats-server', 'containerd']) {
  onNode(
    `${what} without file descriptors is named, ends nothing, and goes on when it has some again`,
    async (node) => {
      await withoutLosses(node, what, async () => {
        const { had, giveBack } = await takeDescriptors(node, what);
        try {
          const said = await poll('the problem', async () => {
            const { stdout, stderr } = await node.kubus('status');
            const lines = `${stdout}${stderr}`.split('\n');
            return lines.find((line) => line.includes(`${what}: no file descriptor of ${had} is left (EMFILE)`));
          });
          expect(said).toContain(`raise the limit with "prlimit --pid ${(await node.process(what))?.pid} --nofile=N"`);
          await node.writeManifest(`${what}-meanwhile.json`, pod(`${what}-meanwhile`));
        } finally {
          await giveBack();
        }
        await node.watch.waitForPod(`${what}-meanwhile`);
      });
    },
  );
}

onNode('a node whose disk is full says so, and goes on when there is room', async (node) => {
  const filler = join(node.dir.state('.'), 'filler');
  await withoutLosses(node, 'full', async () => {
    const block = Buffer.alloc(16 * 1024);
    const fill = () => {
      try {
        for (;;) writeFileSync(filler, block, { flag: 'a' });
      } catch (error) {
        if (!hasErrno(error, 'ENOSPC')) throw error;
      }
    };
    try {
      const full = `sync-loop-0: disk: the disk of ${node.dir.state('sync-loop')} is full (ENOSPC): make room on it`;
      // A service whose write fails gives its reserve back: that is filled, too.
      await poll('the problem', async () => {
        fill();
        return (await problems(node)).includes(full) ? true : undefined;
      });
    } finally {
      rmSync(filler);
    }
  });
});
