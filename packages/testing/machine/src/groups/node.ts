import { expectNone, expectSame } from '../checks.ts';
import type { Guest } from '../guest.ts';
import type { Group } from './group.ts';

const setup = { driver: 'cgroupfs', containerd: '1' } as const;
const kubus = 'sudo /opt/kubus/kubus';

/** The README's first commands, as a user who has just made a clone. */
export const nodeGroup: Group = {
  name: 'node',
  about: 'the private node as a new user: up, status, a pod, logs, down, and nothing left',
  setup,
  run: async ({ guest, checks }) => {
    const before = await everything(guest);
    const asUser = (line: string) => guest.run(line, { user: 'dev' });
    await checks.check('`kubus up` shows the example pods', async () => {
      const table = await asUser(`${kubus} up`);
      const lacking = ['hello-node0', 'once-node0', 'web-node0'].filter((name) => !table.includes(name));
      expectNone('pods that are not shown', lacking);
    });
    await checks.check('`kubus status` shows every service as ready', async () => {
      // It fails while one is not: on a slow machine a service that has just started does not answer in time.
      await guest.until('every service is ready', () => asUser(`${kubus} status`));
    });
    await checks.check('a pod of a new manifest runs', async () => {
      await guest.run(
        "sed 's/name: hello/name: second/' /opt/kubus/examples/manifests/hello.yaml >/opt/kubus/examples/manifests/second.yaml",
      );
      await guest.until('second-node0 is Running', async () => {
        const pods = await asUser(`${kubus} get pods`);
        return /second-node0 .*Running/.test(pods) ? pods : undefined;
      });
    });
    await checks.check('`kubus exec` runs a command in it', async () => {
      expectSame('host name', 'hello-node0', (await asUser(`${kubus} exec hello -- hostname`)).trim());
    });
    await checks.check('the node outlives the session of its user', async () => {
      // Where systemd is, nothing of the node may be in the scope of a login.
      const cgroups = await guest.run(
        'for pid in $(pgrep -f "[/]opt/kubus"); do cat /proc/$pid/cgroup 2>/dev/null; done | sort -u',
      );
      expectNone(
        'in a session',
        cgroups.split('\n').filter((line) => /session-\w+\.scope/.test(line)),
      );
    });
    await checks.check('`kubus down` leaves nothing', async () => {
      await asUser(`${kubus} down`);
      await guest.run('rm -f /opt/kubus/examples/manifests/second.yaml');
      const after = await everything(guest);
      expectNone(
        'left',
        after.filter((line) => !before.includes(line)),
      );
    });
  },
};

/** What a node may leave behind: processes, mounts, network namespaces, links, rules, cgroups, units, folders. */
async function everything(guest: Guest): Promise<string[]> {
  const text = await guest.run(
    [
      // Without the kernel's threads, whose names change.
      'ps --ppid 2 -p 2 --deselect -o comm= | grep -E "node|nats|containerd|pause|sleep|httpd" | sort -u | sed "s/^/process /"',
      'awk \'$5 !~ "^/run/user/" {print "mount", $5}\' /proc/self/mountinfo | sort',
      'ip netns list | sed "s/^/netns /"',
      'ip -o link | awk \'{print "link", $2}\'',
      'iptables-save 2>/dev/null | grep -v "^#" | sed -E "s/\\[[0-9:]+\\]//; s/^/rule /"',
      'find /sys/fs/cgroup -type d | grep -vE "user.slice|session-" | sed "s/^/cgroup /"',
      'ls -d /var/lib/kubus/* /run/kubus/* 2>/dev/null | sed "s/^/folder /"',
    ].join('; '),
  );
  return text.split('\n').filter((line) => line !== '');
}
