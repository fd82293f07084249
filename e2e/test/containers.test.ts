// The node of docker-compose.yml, on a Docker engine of the test's own; without an engine the tests are skipped with a message.
import { execFile } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ContainerNode,
  type SeenPod,
  checkout,
  composeServices as services,
  findDocker,
  poll,
  isSoak,
  someOf,
  testSeed,
} from '@kubus/harness';
import { Random, toError } from '@kubus/ports';
import * as z from 'zod';
import { container, pod, shell } from '../src/pods.ts';
import { askedSoFar, askingPod, readAsked, servingPod } from '../src/undisturbed.ts';

const seed = testSeed('containers');

const programs = await findDocker();
const missing = 'missing' in programs ? programs.missing : undefined;
const started =
  'missing' in programs
    ? undefined
    : await ContainerNode.start(programs).catch((error: unknown) => {
        const { message } = toError(error);
        if ((error as { code?: unknown }).code !== 'NoDocker') throw error;
        return message;
      });
const why = missing ?? (typeof started === 'string' ? started : undefined);
if (why !== undefined) process.stderr.write(`The tests of a node of containers are skipped: ${why}\n`);

/** An engine checks each container only periodically. */
const RESTARTS_LIMIT_MS = 900_000;

/** What a command that has failed had written. */
function refusalOf(error: unknown): string {
  const { stdout, stderr } = error as { stdout: string; stderr: string };
  return stdout + stderr;
}

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      user: z.string().optional(),
      privileged: z.boolean().optional(),
      cap_drop: z.array(z.string()).nullish(),
      read_only: z.boolean().optional(),
      volumes: z.array(z.object({ source: z.string(), target: z.string() })).optional(),
    }),
  ),
});

(missing === undefined ? test : test.skip)(
  'the Compose file is valid: each service has its own seed, and only its own',
  async () => {
    if ('missing' in programs) return;
    const env = { ...process.env, DOCKER_CONFIG: programs.config };
    const docker = join(programs.root, 'usr/bin/docker');
    const file = join(checkout, 'docker-compose.yml');
    const { stdout } = await promisify(execFile)(docker, ['compose', '-f', file, 'config', '--format', 'json'], {
      env,
    });
    const compose = composeSchema.parse(JSON.parse(stdout)).services;
    for (const name of services) {
      const service = compose[name];
      const seeds = (service?.volumes ?? []).filter(({ source }) => source.includes('/identities'));
      expect(seeds.map(({ source }) => source)).toEqual([`/var/lib/kubus/node0/containers/identities/${name}`]);
      expect(service?.volumes?.map(({ source }) => source)).not.toContain('/var/lib/kubus/node0');
      expect(service?.read_only).toBe(true);
      const mayAll = ['cni-bridge', 'volume-manager'].includes(name);
      expect([name, service?.privileged ?? false]).toEqual([name, mayAll]);
      if (!mayAll) expect([name, service?.cap_drop]).toEqual([name, ['ALL']]);
    }
  },
);

(why === undefined ? describe : describe.skip)('a node of containers', () => {
  if (!(started instanceof ContainerNode)) return;
  const node = started;

  beforeAll(async () => {
    await node.compose('up', '--detach', '--no-build');
    await allServe();
  });
  afterAll(() => node.stop());

  /** Resolves when every container is healthy by its own check, and every service has announced itself on the bus. */
  const allServe = () =>
    poll('every service', async () => {
      const states = await node.states();
      const unwell = services.filter((name) => states.get(name) !== 'running healthy');
      const status = await node.kubus('status').catch(() => '');
      const known = services.filter((name) => name !== 'observatory').every((name) => status.includes(`${name}-0 `));
      return unwell.length === 0 && known ? states : undefined;
    });

  /** Long-running pods whose state shows whether they were affected. One sends requests to another one continuously. */
  const staying = async (): Promise<SeenPod[]> => {
    const isReady = ({ ready }: SeenPod) => ready;
    await node.writeManifest('stays', pod('stays'));
    await node.writeManifest('serves', servingPod('serves'));
    const serves = await node.pod('serves', isReady);
    await node.writeManifest('asks', askingPod('asks', serves.ip ?? ''));
    const pods = await Promise.all(['stays', 'asks'].map((name) => node.pod(name, isReady)));
    await answered(0);
    const all = [serves, ...pods];
    expect(all.map(({ readySince }) => readySince)).toEqual(all.map(() => expect.stringMatching(/Z$/)));
    // A restarted worker has only what was recorded, which may lack a status of the last two seconds.
    const records = `/var/lib/kubus/${node.name}/state/pod-workers/pods`;
    for (const { name, uid, readySince = '' } of all) {
      await poll(`the record of ${name}`, async () => {
        const text = await node.engine.onMachine('sh', '-c', `cat ${records}/*${uid}* 2>/dev/null || true`);
        return text.includes(readySince) || undefined;
      });
    }
    return all;
  };
  /** Resolves when further requests have been answered; none may have failed. */
  const answered = (before: number): Promise<number> =>
    poll(`more than ${before} answers`, async () => {
      const asked = readAsked(await node.kubus('exec', `asks-${node.name}`, '--', ...askedSoFar));
      expect(asked.failed).toBe(0);
      return asked.answered > before ? asked.answered : undefined;
    });
  /** The pods still have the same containers, and were ready all the time. */
  const undisturbed = async (before: readonly SeenPod[]) => {
    for (const was of before) expect(await node.pod(was.name, ({ ready }) => ready)).toEqual({ ...was, restarts: 0 });
    await answered(await answered(0));
  };

  test('runs a manifest that is dropped into the folder, with volumes and a probe, and removes it', async () => {
    const spec = {
      volumes: [
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'about', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      ],
      containers: [
        container({
          name: 'main',
          command: shell('echo from the pod >/memory/hello && exec httpd -f -p 8080 -h /memory'),
          volumeMounts: [
            { name: 'memory', mountPath: '/memory' },
            { name: 'about', mountPath: '/about' },
          ],
          readinessProbe: { exec: { command: ['cat', '/memory/ready'] }, periodSeconds: 1 },
        }),
      ],
    };
    await node.writeManifest('first', pod('first', spec));
    const { name, ip } = await node.pod('first', ({ phase }) => phase === 'Running');
    const inPod = (...command: string[]) => node.kubus('exec', `${name}-${node.name}`, '--', ...command);
    expect((await inPod('cat', '/about/name')).trim()).toBe(`first-${node.name}`);
    expect(await inPod('mount')).toContain('tmpfs on /memory type tmpfs');
    await inPod('touch', '/memory/ready');
    await node.pod('first', ({ ready }) => ready);
    // The pods' bridge is in the network of the machine.
    const said = await node.engine.onMachine('curl', '--silent', '--fail', `http://${ip ?? ''}:8080/hello`);
    expect(said.trim()).toBe('from the pod');
    await node.removeManifest('first');
    await poll('no pod', async () => ((await node.pods()).length === 0 ? true : undefined));
    // Mounts of other nodes on this machine are visible there, too.
    const mounts = (await node.engine.onMachine('cat', '/proc/mounts')).split('\n');
    expect(mounts.filter((line) => line.includes(`/kubus/${node.name}/`) && line.includes('/volumes/'))).toEqual([]);
  });

  test('serves its page on the loopback address of the machine', async () => {
    const url = await poll(
      'the address of the page',
      async () => /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(await node.compose('logs', 'page'))?.[0],
    );
    expect(await node.engine.onMachine('curl', '--silent', '--fail', url)).toContain('<html');
  });

  test('runs services that need no privileges as an unprivileged user, and gives each only its own seed', async () => {
    for (const name of ['sync-loop', 'config-sources', 'prober', 'launcher', 'observatory']) {
      const keeper = await node.keeper(name);
      const status = await node.engine.onMachine('cat', `/proc/${keeper}/status`);
      expect(status).toMatch(/^Uid:\t65532\t65532\t65532\t65532$/m);
      expect(status).toMatch(/^CapEff:\t0+$/m);
    }
    for (const name of services) {
      const seeds = await node.engine.onMachine('ls', `/proc/${await node.keeper(name)}/root/etc/kubus/identities`);
      const own = name === 'launcher' ? ['launcher-0.nk', 'streams-0.nk'] : [`${name}-0.nk`];
      expect(seeds.trim().split('\n')).toEqual(own);
    }
  });

  test('runs a network plugin that only the machine has, in its namespaces', async () => {
    // /opt is a file system of the engine's machine only: no image and no other mount has it.
    const log = '/run/only-here.log';
    const script = [
      '#!/bin/sh',
      `echo "$CNI_COMMAND $(readlink /proc/self/ns/net) $(readlink /proc/self/ns/mnt)" >>${log}`,
      // Passes on the previous result.
      'exec /usr/lib/cni/tuning',
      '',
    ].join('\n');
    const put = (path: string, text: string, mode: string) =>
      node.engine.onMachine(
        'sh',
        '-c',
        'mkdir -p "${1%/*}" && printf %s "$2" >"$1.new" && chmod "$3" "$1.new" && mv "$1.new" "$1"',
        'put',
        path,
        text,
        mode,
      );
    await put('/opt/cni/bin/only-here', script, '755');
    const conflist = `/var/lib/kubus/${node.name}/cni/networks/10-pods.conflist`;
    const network = JSON.parse(await node.engine.onMachine('cat', conflist)) as { plugins: object[] };
    await put(conflist, JSON.stringify({ ...network, plugins: [...network.plugins, { type: 'only-here' }] }), '644');
    // Until the folder is read again, pods get the previous network.
    for (let number = 1; ; number++) {
      await node.writeManifest('net', pod(`net-${number}`));
      await node.pod(`net-${number}`, ({ ready }) => ready);
      const said = await node.engine.onMachine('cat', log).catch(() => '');
      if (said === '') continue;
      const own = await node.engine.onMachine('readlink', '/proc/self/ns/net', '/proc/self/ns/mnt');
      expect(said).toContain(`ADD ${own.trim().replace('\n', ' ')}`);
      break;
    }
    await node.removeManifest('net');
    await poll('no pod', async () => ((await node.pods()).length === 0 ? true : undefined));
    expect(await node.engine.onMachine('cat', log)).toContain('DEL');
  });

  test('survives kills of services, each restarted by its container’s process 1', async () => {
    const before = await staying();
    const random = new Random(seed).fork();
    for (let kills = 1; kills <= (isSoak ? 2 * services.length : 5); kills++) {
      const victim = random.pick([...services, 'containerd']);
      const keeper = await node.keeper(victim);
      const pid = await poll(`a process of ${victim}`, () => node.served(victim));
      await node.kill(pid);
      await poll(`the next life of ${victim}`, async () => {
        const next = await node.served(victim);
        return next === pid ? undefined : next;
      });
      // The container is the same.
      expect(await node.keeper(victim)).toBe(keeper);
    }
    await allServe();
    await undisturbed(before);
    await node.writeManifest('after-kills', pod('after-kills'));
    await node.pod('after-kills', ({ ready }) => ready);
  });

  test('keeps a pod that has a host port from the loopback of the machine', async () => {
    const main = container({
      name: 'main',
      ports: [{ containerPort: 80, hostPort: 8080 }],
      securityContext: { privileged: true },
    });
    await node.writeManifest('opens', pod('opens', { containers: [main] }));
    await node.pod('opens', ({ ready }) => ready);
    const attack = `ip addr del 127.0.0.1/8 dev lo 2>/dev/null; echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet
      ip route replace 127.0.0.0/8 via 10.88.0.1; nc -w 2 127.0.0.1 4222 </dev/null | head -c 4`;
    const reached = () => node.kubus('exec', 'opens', '--', 'sh', '-c', attack);
    const rule = (how: string) => node.engine.onMachine('iptables', '-w', '5', how, 'INPUT', '-j', 'KUBE-FIREWALL');
    await rule('-C');
    expect(await reached()).toBe('');
    // What makes this a test: without the rule the pod gets through.
    await rule('-D');
    expect(await reached()).toBe('INFO');
    await rule('-I');
  });

  test('survives kills of process 1 of each container, which the engine restarts', async () => {
    const before = await staying();
    for (const victim of someOf([...services, 'containerd', 'nats'], 3, seed)) {
      const keeper = await node.keeper(victim);
      await node.kill(keeper);
      await poll(`the next container of ${victim}`, async () => {
        const next = await node.keeper(victim);
        return next === keeper || next === 0 ? undefined : next;
      });
    }
    await allServe();
    await undisturbed(before);
    await node.writeManifest('after-keepers', pod('after-keepers'));
    await node.pod('after-keepers', ({ ready }) => ready);
  });

  test(
    'survives restarts of one container after the other without affecting pods',
    async () => {
      const before = await staying();
      for (const name of someOf([...services, 'containerd', 'nats'], 2, seed + 1)) {
        await node.compose('restart', name);
        await allServe();
        await undisturbed(before);
      }
      expect(await node.kubus('restart', 'sync-loop')).toMatch(/^sync-loop-0 is ready again/m);
    },
    RESTARTS_LIMIT_MS,
  );

  test('is refused on a machine with a kubelet, with the reason', async () => {
    // A process of that name.
    const program = join(node.folder, 'kubelet');
    await copyFile('/bin/sleep', program);
    const pid = await node.engine.onMachine('sh', '-c', '"$1" 300 >/dev/null 2>&1 & echo $!', 'start', program);
    const installed = await node.compose('run', '--rm', 'install').catch((error: unknown) => refusalOf(error));
    expect(installed).toMatch(/A kubelet runs on this machine: process \d+, kubelet\..*charts\/kubus/);
    await node.kill(Number(pid));
    await node.compose('run', '--rm', 'install');
  });

  test('leaves only its packet filter rules when it is removed', async () => {
    await node.compose('down', '--timeout', '5');
    const shims = () =>
      node.engine.onMachine('sh', '-c', 'grep -lz "^KUBUS_NODE_DIR=" /proc/[0-9]*/environ 2>/dev/null | wc -l');
    expect(Number(await shims())).toBeGreaterThan(0);
    await node.compose('run', '--rm', 'uninstall');
    expect(Number(await shims())).toBe(0);
    expect(await node.engine.onMachine('find', '/var/lib/kubus', '/run/kubus', '-mindepth', '1')).toBe('');
    expect(await node.engine.onMachine('cat', '/proc/mounts')).not.toContain(`/kubus/${node.name}/`);
  });
});
