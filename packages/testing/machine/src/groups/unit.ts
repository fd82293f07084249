import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addPods, podsReady, treePods } from '../agent.ts';
import { differenceLine, treeDifferences } from '../cgroup-tree.ts';
import { expectNone, expectSame } from '../checks.ts';
import { GuestError } from '../errors.ts';
import type { Guest } from '../guest.ts';
import { containerIds, readTree } from '../read-guest.ts';
import { setUpRuntime } from '../runtime-setup.ts';
import type { Group, Stage } from './group.ts';

const setup = { driver: 'systemd', containerd: '2' } as const;

const task = join(import.meta.dirname, '../../../../../docs/tasks/instead-of-a-kubelet.md');

/** What an operator does with the unit, and what systemd does with it: no container and no cgroup changes. */
export const unitGroup: Group = {
  name: 'unit',
  about:
    'the unit as it is documented: installed with one command, reloaded, stopped with pods left, ended by its watchdog',
  setup,
  run: async (stage) => {
    const { guest, checks } = stage;
    await setUpRuntime(guest, setup);
    await checks.check('the documented command installs it, starts it, and has it start at boot', async () => {
      await guest.run(await documentedCommand());
      expectSame('state', 'active', (await guest.run('systemctl is-active kubelet')).trim());
      expectSame('at boot', 'enabled', (await guest.run('systemctl is-enabled kubelet')).trim());
    });
    const pods = new Map([...(await treePods())].filter(([file]) => /^(besteffort|guaranteed)\./.test(file)));
    await checks.check('a changed configuration takes effect with a restart', async () => {
      await guest.run('echo "readOnlyPort: 10255" >>/var/lib/kubelet/config.yaml && systemctl restart kubelet');
      await addPods(guest, pods);
      await podsReady(guest, pods.size);
    });
    await unchanged(stage, pods.size, 'a daemon-reload and a restart of containerd', async () => {
      await guest.run('systemctl daemon-reload && systemctl restart containerd');
    });
    await unchanged(stage, pods.size, 'a stop, and a start after it', async () => {
      const before = await containerIds(guest);
      await guest.run('systemctl stop kubelet');
      expectSame('result', 'success', await property(guest, 'Result'));
      expectSame('containers without an agent', before, await containerIds(guest));
      await guest.run('systemctl start kubelet');
    });
    await unchanged(stage, pods.size, 'an agent that hangs, which its watchdog ends,', async () => {
      const before = Number(await property(guest, 'NRestarts'));
      await guest.run('systemctl kill --signal=STOP --kill-whom=main kubelet');
      await guest.until('the unit has restarted', async () =>
        Number(await property(guest, 'NRestarts')) > before ? true : undefined,
      );
    });
  },
};

/** Checks that what is done changes neither a container nor a cgroup. */
async function unchanged(
  { guest, checks }: Stage,
  count: number,
  what: string,
  act: () => Promise<void>,
): Promise<void> {
  await checks.check(`${what} changes no container and no cgroup`, async () => {
    const [containers, tree] = [await containerIds(guest), await readTree(guest, setup, 'Kubus')];
    await act();
    await podsReady(guest, count);
    expectSame('containers', containers, await containerIds(guest));
    expectNone('differences', treeDifferences(tree, await readTree(guest, setup, 'Kubus')).map(differenceLine));
  });
}

/** The line that the task's page says. */
async function documentedCommand(): Promise<string> {
  const line = (await readFile(task, 'utf8')).split('\n').find((one) => one.startsWith('install -D '));
  if (line === undefined) throw new GuestError('NotDocumented', `${task} has no line that begins with "install -D"`);
  return line;
}

async function property(guest: Guest, name: string): Promise<string> {
  return (await guest.run(`systemctl show kubelet --property=${name} --value`)).trim();
}
