import { addPods, listPods, podsReady, treePods } from '../agent.ts';
import { expectSame } from '../checks.ts';
import { setUpRuntime } from '../runtime-setup.ts';
import type { Group } from './group.ts';
import { startUnit } from './start-unit.ts';

const setup = { driver: 'systemd', containerd: '2' } as const;

/** The machine is restarted: the same pods run again, and their containers count one restart, as with the reference. */
export const rebootGroup: Group = {
  name: 'reboot',
  about: 'a reboot after which all pods come back and are accounted for',
  setup,
  run: async (stage) => {
    const { guest, checks } = stage;
    await setUpRuntime(guest, setup);
    await startUnit(stage, setup.driver);
    await guest.run('systemctl enable --quiet kubelet');
    const pods = await treePods();
    await addPods(guest, pods);
    const before = await podsReady(guest, pods.size);
    await guest.reboot();
    await checks.check('the unit is up after the boot', async () => {
      await guest.until('the unit is active', async () => {
        const state = await guest.run('systemctl is-active kubelet || true');
        return state.trim() === 'active' ? state : undefined;
      });
    });
    await checks.check('all pods are Ready again', () => podsReady(guest, pods.size));
    await checks.check('they are the same pods', async () => {
      const uids = (list: typeof before) =>
        list
          .map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
          .sort()
          .join('\n');
      expectSame('pods', uids(before), uids(await listPods(guest)));
    });
    await checks.check('every container counts one restart', async () => {
      const counts = (await listPods(guest)).flatMap(({ metadata, status }) =>
        [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map(
          ({ name, restartCount = 0 }) => `${metadata.name}/${name} ${restartCount}`,
        ),
      );
      const expected = counts.map((line) => line.replace(/\d+$/, '1'));
      expectSame('restarts', expected.sort().join('\n'), counts.sort().join('\n'));
    });
  },
};
