import { Random } from '@kubus/ports';
import { addPods, podsReady, treePods } from '../agent.ts';
import { expectNone, expectSame } from '../checks.ts';
import type { Guest } from '../guest.ts';
import { containerIds } from '../read-guest.ts';
import { setUpRuntime } from '../runtime-setup.ts';
import type { Group } from './group.ts';
import { startUnit } from './start-unit.ts';

const setup = { driver: 'systemd', containerd: '2' } as const;
const SEEDS = [1, 2, 3];
const KILLS = 4;

/** The agent's processes, containerd and NATS are killed in a seeded order: no container restarts, and new pods still run. */
export const killGroup: Group = {
  name: 'kill',
  about: 'processes of the agent and containerd are killed, by three seeds; no container restarts',
  setup,
  run: async (stage) => {
    const { guest, checks } = stage;
    await setUpRuntime(guest, setup);
    await startUnit(stage, setup.driver);
    const pods = await treePods();
    await addPods(guest, pods);
    await podsReady(guest, pods.size);
    const before = await containerIds(guest);
    for (const seed of SEEDS) {
      await checks.check(`seed ${seed}: all pods Ready with the same containers`, async () => {
        for (const victim of await victims(guest, seed)) await guest.run(victim);
        await podsReady(guest, pods.size);
        expectSame('containers', before, await containerIds(guest));
      });
    }
    await checks.check('a pod that is added afterwards becomes Ready', async () => {
      const [, text = ''] = [...pods][0] ?? [];
      await addPods(guest, new Map([['late.yaml', text.replace(/name: [a-z-]+ \}/, 'name: late }')]]));
      await podsReady(guest, pods.size + 1);
    });
    await checks.check('no process of the killed agents is left', async () => {
      const stray = await guest.run(
        "main=$(systemctl show kubelet --property=ControlGroup --value); for pid in $(pgrep -f '[/]opt/kubus'); do grep -q \"$main\" /proc/$pid/cgroup 2>/dev/null || tr '\\0' ' ' </proc/$pid/cmdline; done",
      );
      expectNone('outside of the unit', stray.trim() === '' ? [] : [stray.trim()]);
    });
  },
};

/** Shell lines that kill: mostly one process of the unit, now and then the whole unit or containerd. */
async function victims(guest: Guest, seed: number): Promise<string[]> {
  const group = (await guest.run('systemctl show kubelet --property=ControlGroup --value')).trim();
  const random = new Random(seed);
  return Array.from({ length: KILLS }, () => {
    const choice = random.fraction();
    if (choice < 0.15) return 'systemctl kill --signal=KILL kubelet';
    if (choice < 0.3) return 'systemctl kill --signal=KILL --kill-whom=main containerd';
    const line = 1 + random.below(12);
    // The list is read at the moment of the kill: earlier kills have changed it.
    return `pid=$(find /sys/fs/cgroup${group} -name cgroup.procs -exec cat {} + | sort -n | awk '{p[NR]=$1} END {print p[1+(${line}%NR)]}'); kill -KILL "$pid"; sleep 1`;
  });
}
