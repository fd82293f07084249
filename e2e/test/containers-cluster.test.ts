// The Helm chart on a machine of a cluster: its DaemonSet's pod runs on a kubelet, and is a second node of the same cluster.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findDocker, nodeImages, poll, isSoak, someOf, testSeed } from '@kubus/harness';
import { type KubeObject, isReady, nodeUser } from '@kubus/kube-fixture';
import { shimSocket } from '@kubus/launcher';
import { Random, toError } from '@kubus/ports';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { ChartRelease, NAMESPACE, type ReleasePod, putObject } from '../src/chart-release.ts';
import { deniedByRules } from '../src/chart-rules.ts';
import { ClusterMachine } from '../src/cluster-machine.ts';
import { kubectl } from '../src/cluster-node.ts';
import { container, pod, shell } from '../src/pods.ts';

const seed = testSeed('containers-cluster');
/** An upgrade replaces the whole agent: the quick form has one of the two. */
const upgrades = someOf(['kubeconfig', 'bootstrap'] as const, 1, seed);
const upgradeTest = (mode: (typeof upgrades)[number]) => (upgrades.includes(mode) ? test : test.skip);

const releases: ChartRelease[] = [];
const programs = await findDocker();
const started =
  'missing' in programs
    ? programs.missing
    : await ClusterMachine.start(programs, {
        nodeAuthorization: true,
        approve: () => true,
        authorize: (attributes) => {
          const release = releases.find(({ account }) => account === attributes.user.username);
          return release && deniedByRules(release.rules, attributes);
        },
      }).catch((error: unknown) => {
        if ((error as { code?: unknown }).code !== 'NoDocker') throw error;
        return toError(error).message;
      });
if (typeof started === 'string') process.stderr.write(`The tests of the chart in a cluster are skipped: ${started}\n`);

(typeof started === 'string' ? describe.skip : describe)('the chart on a machine of a cluster', () => {
  if (typeof started === 'string') return;
  const machine = started;
  const { api } = machine;
  const guest = `${machine.name}-kubus`;
  const images = {
    image: { repository: nodeImages.kubus, tag: 'latest' },
    runtime: { image: { repository: nodeImages.containerd, tag: 'latest' } },
    nats: { image: { repository: nodeImages.nats, tag: 'latest' } },
  };
  const values = {
    ...images,
    node: { folder: machine.guest },
    nodeApi: { clientCaConfigMap: 'client-ca' },
    cluster: { mode: 'serviceAccount', server: api.url },
  };
  const release = new ChartRelease(machine, 'guest');
  releases.push(release);
  let agent: ReleasePod;

  beforeAll(async () => {
    put('Namespace', { name: NAMESPACE });
    // Objects that a cluster has in each namespace, and the permissions of the node's API.
    const data = { 'ca.crt': api.authority.certificate };
    for (const name of ['kube-root-ca.crt', 'client-ca']) put('ConfigMap', { namespace: NAMESPACE, name }, { data });
    await release.apply(values);
    agent = release.createPod();
    await agent.waitFor(isReady);
    await api.waitFor({ kind: 'Node', name: guest }, isReady);
    await create('stays');
  });
  afterAll(() => machine.stop());

  const put = (kind: string, metadata: object, content: object = {}) =>
    putObject(api, { apiVersion: 'v1', kind, metadata, ...content });
  /** Runs kubectl as the administrator. */
  const run = (...args: string[]) => kubectl({ kubeconfig: machine.kubeconfig, server: api }, args);
  /** As {@link run}; it has to succeed. */
  const ok = async (...args: string[]) => {
    const said = await run(...args);
    expect({ args, ...said }).toMatchObject({ code: 0 });
    return said.stdout;
  };
  /** A pod on the second node, with a toleration of its taint. */
  const create = async (name: string, spec: object = {}) => {
    const manifest = pod(name, { tolerations: [{ key: 'kubus.dev/guest', operator: 'Exists' }], ...spec });
    const { spec: whole, ...rest } = manifest as { spec: object };
    api.create({ ...rest, spec: { ...whole, nodeName: guest } });
    return api.waitFor({ kind: 'Pod', name }, isReady);
  };
  const remove = async (name: string) => {
    api.delete({ kind: 'Pod', name });
    await api.waitGone({ kind: 'Pod', name });
  };
  /** The state that shows whether a pod of the second node was affected: its containers, their processes, their restarts. */
  const traces = async (name: string) => {
    const { status } = await api.waitFor({ kind: 'Pod', name }, isReady);
    const containers = (status as { containerStatuses: { containerID: string; restartCount: number }[] })
      .containerStatuses;
    return Promise.all(
      containers.map(async ({ containerID, restartCount }) => ({
        containerID,
        restartCount,
        process: await machine.processOf(containerID, `/run/kubus/${machine.guest}/containerd/containerd.sock`),
      })),
    );
  };
  /** Resolves when the second node works completely. */
  const serves = async (name: string) => {
    await agent.waitFor(isReady);
    // Its readiness probe may not have noticed the kill of a service yet: exec needs node-api.
    const check = ['--container', 'node-api', '--', 'kubus', 'service', 'node-api', '--check'];
    await poll('a ready node-api', async () => {
      const { code } = await run('exec', '--namespace', NAMESPACE, agent.name, ...check);
      return code === 0 ? true : undefined;
    });
    await create(name);
    expect(await ok('exec', name, '--', 'echo', 'there')).toBe('there\n');
    await remove(name);
  };

  /** `helm upgrade` to the kubeconfig of a Secret, and the pod that it creates; returns the number of earlier requests. */
  const upgrade = async (mode: 'kubeconfig' | 'bootstrap', kubeconfig: string) => {
    const data = { kubeconfig: (await readFile(kubeconfig)).toString('base64') };
    put('Secret', { namespace: NAMESPACE, name: `guest-${mode}` }, { data });
    await release.apply({ ...values, cluster: { mode, kubeconfigSecret: `guest-${mode}` } });
    await agent.remove();
    const asked = api.requests.length;
    agent = release.createPod();
    return asked;
  };

  test('registers the second node, with its label and taint, beside the kubelet’s', async () => {
    const node = await api.waitFor({ kind: 'Node', name: guest }, isReady);
    expect(node.metadata.labels).toMatchObject({ 'kubus.dev/guest': 'true' });
    expect(node.spec?.['taints']).toContainEqual({ key: 'kubus.dev/guest', value: 'true', effect: 'NoSchedule' });
    expect(node.status?.['daemonEndpoints']).toEqual({ kubeletEndpoint: { Port: 10_350 } });
    expect(isReady(await api.waitFor({ kind: 'Node', name: machine.name }, () => true))).toBe(true);
  });

  test('runs a pod of the API with a ConfigMap and a Secret; logs, exec and deletion work', async () => {
    put('ConfigMap', { name: 'settings' }, { data: { colour: 'blue' } });
    put('Secret', { name: 'settings' }, { data: { word: Buffer.from('secret').toString('base64') } });
    await create('reader', {
      volumes: [
        { name: 'settings', configMap: { name: 'settings' } },
        { name: 'password', secret: { secretName: 'settings' } },
      ],
      containers: [
        container({
          name: 'main',
          command: shell('echo "$(cat /settings/colour)"; trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done'),
          volumeMounts: [
            { name: 'settings', mountPath: '/settings' },
            { name: 'password', mountPath: '/password' },
          ],
          readinessProbe: { exec: { command: ['cat', '/password/word'] }, periodSeconds: 1 },
        }),
      ],
    });
    await poll('its log', async () => ((await ok('logs', 'reader')) === 'blue\n' ? true : undefined));
    expect(await ok('exec', 'reader', '--', 'cat', '/password/word')).toBe('secret');
    await remove('reader');
    expect(await machine.engine.onMachine('cat', '/proc/mounts')).not.toContain('~secret/password');
  });

  test('has no request refused with the RBAC rules of the chart', () => {
    const asked = api.requests.filter(({ user }) => user === release.account);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter(({ status }) => status === 403).map(({ verb, path }) => `${verb} ${path}`)).toEqual([]);
  });

  test('is known to the command line on the machine by its name, with the services of a member', async () => {
    const program = `/var/lib/kubus/${machine.guest}/bin/kubus`;
    // A service that is busy may not answer in time.
    await poll('a healthy node', async () => {
      const said = await machine.engine.onMachine(program, '--node', guest, 'status').catch(() => '');
      return ['object-cache-0', 'status-manager-0'].every((name) => said.includes(name)) ? true : undefined;
    });
  });

  test('passes `helm test`', async () => {
    const check = release.createTestPod();
    const { status } = await check.waitFor(hasEnded);
    expect(status).toMatchObject({ phase: 'Succeeded' });
    await check.remove();
  });

  test('survives kills of its services, each restarted in its container', async () => {
    const before = await traces('stays');
    const containers = await agent.containers();
    const served = containers.filter(({ name }) => name !== 'nats');
    const random = new Random(seed).fork();
    for (let kills = 1; kills <= (isSoak ? 2 * served.length : 3); kills++) {
      const { name, id } = random.pick(served);
      const keeper = (await machine.processOf(id)) ?? 0;
      const pid = await poll(`a process of ${name}`, () => machine.engine.keptBy(keeper));
      await machine.engine.onMachine('kill', '-KILL', String(pid));
      await poll(`the next process of ${name}`, async () => {
        const next = await machine.engine.keptBy(keeper);
        return next === pid ? undefined : next;
      });
    }
    await serves('after-kills');
    expect(await traces('stays')).toEqual(before);
    expect(await agent.containers()).toEqual(containers);
  });

  test('survives kills of process 1 of each container, which the kubelet restarts', async () => {
    const before = await traces('stays');
    for (const { name, id, restarts } of someOf(await agent.containers(), 1, seed)) {
      await machine.engine.onMachine('kill', '-KILL', String(await machine.processOf(id)));
      await agent.waitForContainer(name, (next) => next.running && next.restarts === restarts + 1);
    }
    await serves('after-keepers');
    expect(await traces('stays')).toEqual(before);
  });

  test('survives the end of one container after the other, each restarted by the kubelet', async () => {
    const before = await traces('stays');
    for (const { name, id } of someOf(await agent.containers(), 1, seed + 1)) {
      await machine.engine.onMachine('kill', '-TERM', String(await machine.processOf(id)));
      await agent.waitForContainer(name, (next) => !next.running || next.id !== id);
    }
    await serves('after-ends');
    expect(await traces('stays')).toEqual(before);
  });

  upgradeTest('kubeconfig')('continues as another user, by `helm upgrade` to the kubeconfig of a Secret', async () => {
    const before = await traces('stays');
    const asked = await upgrade('kubeconfig', await api.kubeconfig(nodeUser(guest), 'certificate'));
    await serves('after-upgrade');
    expect(await traces('stays')).toEqual(before);
    // Its shim was started by a container that no longer exists.
    expect(await ok('exec', 'stays', '--', 'echo', 'still there')).toBe('still there\n');
    const user = `system:node:${guest}`;
    const own = api.requests.slice(asked).filter((one) => one.user === user || one.user === release.account);
    expect([...new Set(own.map((one) => one.user))]).toEqual([user]);
    expect(own.filter(({ status }) => status === 403).map(({ verb, path }) => `${verb} ${path}`)).toEqual([]);
  });

  upgradeTest('bootstrap')(
    'requests a certificate of its own, by `helm upgrade` to the bootstrap kubeconfig of a Secret',
    async () => {
      const before = await traces('stays');
      const stranger = {
        username: 'system:bootstrap:abcdef',
        groups: ['system:bootstrappers', 'system:authenticated'],
      };
      const asked = await upgrade('bootstrap', await api.kubeconfig(stranger));
      await serves('after-bootstrap');
      expect(await traces('stays')).toEqual(before);
      const users = (what: RegExp) =>
        new Set(api.requests.slice(asked).flatMap(({ path, user }) => (what.test(path) ? [user] : [])));
      expect(users(/certificatesigningrequests/)).toContain(stranger.username);
      expect(users(/\/(pods|configmaps|leases)/)).not.toContain(stranger.username);
      expect(users(/\/leases/)).toContain(`system:node:${guest}`);
      expect(users(/./)).not.toContain(release.account);
      const credentials = `/var/lib/kubus/${machine.guest}/credentials`;
      const modes = await machine.engine.onMachine(
        'stat',
        '--format',
        '%a %u %g',
        credentials,
        `${credentials}/kubeconfig`,
      );
      expect(modes).toBe('2750 0 65532\n640 0 65532\n');
      // A pod from before all upgrades ends like any other.
      await remove('stays');
      await create('stays');
      expect(await machine.engine.onMachine('cat', '/proc/mounts')).not.toContain(before[0]?.containerID.slice(-64));
      expect(await traces('stays')).not.toEqual(before);
    },
  );

  test('refuses the runtime of the machine’s kubelet, with a sentence in its log', async () => {
    const other = new ChartRelease(machine, 'other');
    await other.apply({
      ...images,
      runtime: { enabled: false, socket: '/run/containerd/containerd.sock' },
      node: { httpPort: 10_500 },
    });
    const refused = other.createPod();
    const install = await refused.waitForContainer('install', ({ exitCode }) => exitCode !== undefined);
    expect(install.exitCode).toBe(1);
    // The log of the next run is empty at first.
    await poll('the sentence', async () => {
      const log = await ok('logs', '--namespace', NAMESPACE, refused.name, '--container', 'install');
      return (
        /Another agent uses the runtime at \/run\/containerd\/containerd.sock: it has created the pod kubus\//.exec(
          log,
        ) ?? undefined
      );
    });
    await refused.remove();
  });

  test('fails `helm test` where the node is not running, or never existed, and gives the reason', async () => {
    // Without its agent the node is unavailable for a while: in the long form only.
    if (isSoak) await agent.remove();
    const never = new ChartRelease(machine, 'never');
    await never.apply({ ...images, cluster: values.cluster });
    const cases = [
      ...(isSoak ? ([[release, 'the service does not answer']] as const) : []),
      [never, 'node.json does not exist: run "kubus install" first'],
    ] as const;
    for (const [one, line] of cases) {
      const check = one.createTestPod();
      const { status } = await check.waitFor(hasEnded);
      expect(status).toMatchObject({ phase: 'Failed' });
      expect(await ok('logs', '--namespace', NAMESPACE, check.name, '--container', 'sync-loop')).toContain(line);
      await check.remove();
    }
    if (!isSoak) return;
    agent = release.createPod();
    await serves('after-absence');
  });

  test('removes everything from the machine by the hooks of `helm uninstall`, with a value', async () => {
    await release.apply({ ...values, uninstall: { enabled: true } });
    await agent.remove();
    const folders = [`/var/lib/kubus/${machine.guest}`, `/run/kubus/${machine.guest}`];
    const seen = () => machine.engine.onMachine('sh', '-c', `ls -d ${folders.join(' ')} 2>/dev/null || true`);
    expect(await seen()).not.toBe('');
    const tasks = `/var/lib/kubus/${machine.guest}/containerd/state/io.containerd.runtime.v2.task/k8s.io`;
    const ids = (await machine.engine.onMachine('ls', tasks)).trim().split('\n');
    const sockets = ids.map((id) => shimSocket(`/run/kubus/${machine.guest}/containerd/containerd.sock`, id));
    const shims = async () => {
      const names = (await machine.engine.onMachine('ls', '/run/containerd/s')).trim().split('\n');
      return sockets.filter((socket) => names.includes(basename(socket)));
    };
    expect(await shims()).not.toEqual([]);
    const uninstall = release.createUninstallPod();
    await uninstall.waitFor(isReady);
    expect(await seen()).toBe('');
    expect(await shims()).toEqual([]);
    const mounts = (await machine.engine.onMachine('cat', '/proc/mounts')).split('\n');
    // Those of the pod that removes it are its own.
    expect(mounts.filter((line) => folders.some((folder) => line.includes(` ${folder}/`)))).toEqual([]);
    await uninstall.remove();
  });
});

function hasEnded({ status }: KubeObject): boolean {
  const phase = status?.['phase'];
  return phase === 'Succeeded' || phase === 'Failed';
}
