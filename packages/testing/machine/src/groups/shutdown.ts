import { addPods, podsReady } from '../agent.ts';
import { expectNone, expectSame } from '../checks.ts';
import type { Guest } from '../guest.ts';
import { setUpRuntime } from '../runtime-setup.ts';
import type { Group } from './group.ts';
import { startUnit } from './start-unit.ts';

const setup = { driver: 'systemd', containerd: '2' } as const;

/** The priority of the class with this name. */
const SYSTEM_NODE_CRITICAL = 2_000_001_000;

/** Where the pods write when they were asked to end; the folder is the machine's. */
const STORY = '/var/lib/kubus-shutdown';

/** A pod that writes its name when it gets SIGTERM, and ends two seconds later. */
function witness(name: string, priority?: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'kube-system' },
    spec: {
      hostNetwork: true,
      // As kubeadm writes them: without an API server nobody resolves the class of a static pod.
      ...(priority !== undefined && { priority, priorityClassName: 'system-node-critical' }),
      terminationGracePeriodSeconds: 60,
      volumes: [{ name: 'story', hostPath: { path: STORY, type: 'DirectoryOrCreate' } }],
      containers: [
        {
          name: 'main',
          image: 'docker.io/library/busybox:1.35',
          command: [
            'sh',
            '-c',
            `trap 'echo ${name} asked >>/story/log; sleep 2; echo ${name} ended >>/story/log; exit 0' TERM; sleep 360000 & wait`,
          ],
          volumeMounts: [{ name: 'story', mountPath: '/story' }],
        },
      ],
    },
  });
}

/** The machine shuts down (KEP-2000): pods end in order before anything else does, and run again after the next boot. */
export const shutdownGroup: Group = {
  name: 'shutdown',
  about:
    'graceful node shutdown: an inhibitor lock, ordinary pods before critical ones, all of them again at the next boot',
  setup,
  run: async (stage) => {
    const { guest, checks } = stage;
    await setUpRuntime(guest, setup);
    const grace = { shutdownGracePeriod: '240s', shutdownGracePeriodCriticalPods: '120s' };
    await startUnit(stage, setup.driver, grace);
    await guest.run('systemctl enable --quiet kubelet');
    await addPods(
      guest,
      new Map([
        ['ordinary.yaml', witness('ordinary')],
        ['critical.yaml', witness('critical', SYSTEM_NODE_CRITICAL)],
      ]),
    );
    await podsReady(guest, 2);
    await checks.check('the agent holds an inhibitor lock for shutdown', async () => {
      const locks = await guest.run('systemd-inhibit --list --no-legend --no-pager');
      expectNone('locks', locks.split('\n').some((line) => /kube\S*.*shutdown.*delay/.test(line)) ? [] : [locks]);
    });
    await checks.check('logind waits as long as the pods have', async () => {
      const wait = (await busctlProperty(guest, 'InhibitDelayMaxUSec')).trim();
      if (Number(wait) < 240_000_000) expectSame('InhibitDelayMaxUSec', 'at least 240000000', wait);
    });
    await guest.reboot();
    await checks.check('ordinary pods ended before critical ones were asked, and all in their own time', async () => {
      const log = (await guest.run(`cat ${STORY}/log`)).trim();
      expectSame('story', 'ordinary asked\nordinary ended\ncritical asked\ncritical ended', log);
    });
    await checks.check('all pods are Ready after the next boot', () => podsReady(guest, 2));
    await checks.check('the agent’s stop was clean', async () => {
      const log = await guest.run(
        'journalctl --boot=-1 --no-pager --output=cat --unit=kubelet --unit=init.scope --lines=400',
      );
      expectNone(
        'log',
        log.split('\n').filter((line) => /timed out|Killing process|Failed with result/.test(line)),
      );
    });
  },
};

async function busctlProperty(guest: Guest, name: string): Promise<string> {
  const line = await guest.run(
    `busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager ${name}`,
  );
  return line.split(' ')[1] ?? '';
}
