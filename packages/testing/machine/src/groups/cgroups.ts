import { type Agent, addPods, listPods, podsReady, removePods, startAgent, stopAgent, treePods } from '../agent.ts';
import { type CgroupTree, differenceLine, treeDifferences } from '../cgroup-tree.ts';
import { expectNone, expectSame } from '../checks.ts';
import type { Guest } from '../guest.ts';
import { readKeptTree, reasonFor, writeKeptTree } from '../kept-trees.ts';
import { containerIds, readTree } from '../read-guest.ts';
import { type RuntimeSetup, setUpRuntime } from '../runtime-setup.ts';
import type { Group, Stage } from './group.ts';
import { startUnit } from './start-unit.ts';

/**
 * The agent as a unit with one driver on one containerd: its pods' cgroups, file by file, are the reference's; a restart changes no
 * container; nothing is left of removed pods.
 */
export function cgroupsGroup(setup: RuntimeSetup): Group {
  return {
    name: `${setup.driver}-${setup.containerd}`,
    about: `the unit with driver ${setup.driver} on containerd ${setup.containerd}.x: pods and their cgroups`,
    setup,
    run: async (stage) => {
      if (stage.hasReference) await keepReference(stage, setup);
      await setUpRuntime(stage.guest, setup);
      await startUnit(stage, setup.driver);
      await runPods(stage, setup);
    },
  };
}

/** Has the reference run the same pods. The boot after it removes what systemd remembers of its slices. */
async function keepReference({ guest, say }: Stage, setup: RuntimeSetup): Promise<void> {
  await setUpRuntime(guest, setup);
  await startAgent(guest, 'reference', setup.driver);
  const { during, after } = await treesOf(guest, setup, 'reference');
  await writeKeptTree({ during, after });
  say(`  kept the reference's tree: ${Object.keys(during.cgroups).length} cgroups`);
  await stopAgent(guest);
  await guest.run('rm -f /etc/systemd/system/kubelet.service && systemctl daemon-reload');
  await guest.reboot();
}

/** The tree while all pods run, and when they are removed. */
async function treesOf(
  guest: Guest,
  setup: RuntimeSetup,
  agent: Agent,
): Promise<{ during: CgroupTree; after: CgroupTree }> {
  const pods = await treePods();
  await addPods(guest, pods);
  await podsReady(guest, pods.size);
  const name = agent === 'reference' ? (await guest.run('/opt/reference/kubelet --version')).trim() : 'Kubus';
  const during = await readTree(guest, setup, name);
  await removePods(guest);
  // Pods' cgroups end with the agent's next look at them, not with the last container.
  const after = await guest.until('the pods’ cgroups are removed', async () => {
    const tree = await readTree(guest, setup, name);
    return Object.keys(tree.cgroups).some((path) => path.includes('pod:') || /[/-]pod[0-9a-f]/.test(path))
      ? undefined
      : tree;
  });
  return { during, after };
}

async function runPods({ guest, checks }: Stage, setup: RuntimeSetup): Promise<void> {
  const pods = await treePods();
  const reference = await readKeptTree(setup);
  await checks.check('all pods become Ready', async () => {
    await addPods(guest, pods);
    await podsReady(guest, pods.size);
  });
  await checks.check('the cgroups are the reference’s, file by file', async () => {
    const tree = await readTree(guest, setup, 'Kubus');
    expectNone('differences', unexplained(reference.during, tree, setup));
  });
  await checks.check('a restart of the unit touches no container and no cgroup', async () => {
    const [containers, tree] = [await containerIds(guest), await readTree(guest, setup, 'Kubus')];
    await guest.run('systemctl restart kubelet');
    await podsReady(guest, pods.size);
    expectSame('containers', containers, await containerIds(guest));
    expectNone('differences', treeDifferences(tree, await readTree(guest, setup, 'Kubus')).map(differenceLine));
  });
  await checks.check('no restart is counted', async () => {
    const counts = (await listPods(guest)).flatMap(({ status }) => status?.containerStatuses ?? []);
    expectNone(
      'restarted',
      counts.filter(({ restartCount = 0 }) => restartCount > 0).map(({ name }) => name),
    );
  });
  await checks.check('nothing is left of removed pods', async () => {
    await removePods(guest);
    await guest.until('no differences to what the reference leaves', async () => {
      expectNone('differences', unexplained(reference.after, await readTree(guest, setup, 'Kubus'), setup));
      return true;
    });
  });
  await checks.check('the unit stops by itself', async () => {
    await stopAgent(guest);
    expectSame('result', 'success', (await guest.run('systemctl show kubelet --property=Result --value')).trim());
  });
}

function unexplained(reference: CgroupTree, tree: CgroupTree, setup: RuntimeSetup): string[] {
  return treeDifferences(reference, tree)
    .filter((difference) => reasonFor(difference, setup) === undefined)
    .map(differenceLine);
}
