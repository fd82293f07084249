// The Helm chart on a machine of a cluster: its DaemonSet's pod runs on a kubelet, and is a second node of the same cluster.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findDocker, nodeImages, poll } from '@kubus/harness';
import { type KubeObject, isReady, nodeUser } from '@kubus/kube-fixture';
import { toError } from '@kubus/ports';
import { Random } from '@kubus/simulation';
import { readFile } from 'node:fs/promises';
import { ChartRelease, NAMESPACE, type ReleasePod, putObject } from '../src/chart-release.ts';
import { deniedByRules } from '../src/chart-rules.ts';
import { ClusterMachine } from '../src/cluster-machine.ts';
import { kubectl } from '../src/cluster-node.ts';
import { container, pod, shell } from '../src/pods.ts';

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
    // What a cluster has in each namespace, and what its administrator gives to the node's API.
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
  /** Runs kubectl as the administrator; it has to succeed. */
  const ok = async (...args: string[]) => {
    const said = await kubectl({ kubeconfig: machine.kubeconfig, server: api }, args);
    expect({ args, ...said }).toMatchObject({ code: 0 });
    return said.stdout;
  };
  /** A pod on the second node, which tolerates what keeps others from it. */
  const create = async (name: string, spec: object = {}) => {
    // A test that is tried once more finds what its first try has left.
    if (api.get({ kind: 'Pod', name }) !== undefined) await remove(name);
    const manifest = pod(name, { tolerations: [{ key: 'kubus.dev/guest', operator: 'Exists' }], ...spec });
    const { spec: whole, ...rest } = manifest as { spec: object };
    api.create({ ...rest, spec: { ...whole, nodeName: guest } });
    return api.waitFor({ kind: 'Pod', name }, isReady);
  };
  const remove = async (name: string) => {
    api.delete({ kind: 'Pod', name });
    await api.waitGone({ kind: 'Pod', name });
  };
  /** What shows whether somebody has disturbed a pod of the second node: its containers, their processes, their restarts. */
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
  /** Resolves when the second node does all that it is for. */
  const serves = async (name: string) => {
    await agent.waitFor(isReady);
    await create(name);
    expect(await ok('exec', name, '--', 'echo', 'there')).toBe('there\n');
    await remove(name);
  };

  /** `helm upgrade` to the kubeconfig of a Secret, and the pod that it makes; returns how many requests there had been before. */
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

  test('is refused nothing with the rules that the chart makes for its ServiceAccount', () => {
    const asked = api.requests.filter(({ user }) => user === release.account);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter(({ status }) => status === 403).map(({ verb, path }) => `${verb} ${path}`)).toEqual([]);
  });

  test('passes `helm test`', async () => {
    const check = release.createTestPod();
    const { status } = await check.waitFor(hasEnded);
    expect(status).toMatchObject({ phase: 'Succeeded' });
    await check.remove();
  });

  test('goes on when its services are killed, each started again in its container', async () => {
    const before = await traces('stays');
    const containers = await agent.containers();
    const served = containers.filter(({ name }) => name !== 'nats');
    const random = new Random(Number(process.env['KUBUS_TEST_SEED'] ?? 1)).fork();
    for (let kills = 1; kills <= 2 * served.length; kills++) {
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

  test('goes on when process 1 of each container is killed, which the kubelet starts again', async () => {
    const before = await traces('stays');
    for (const { name, id, restarts } of await agent.containers()) {
      await machine.engine.onMachine('kill', '-KILL', String(await machine.processOf(id)));
      await agent.waitForContainer(name, (next) => next.running && next.restarts === restarts + 1);
    }
    await serves('after-keepers');
    expect(await traces('stays')).toEqual(before);
  });

  test('goes on when its containers end one after the other, and wait for the kubelet', async () => {
    const before = await traces('stays');
    for (const { name, id } of await agent.containers()) {
      await machine.engine.onMachine('kill', '-TERM', String(await machine.processOf(id)));
      await agent.waitForContainer(name, (next) => !next.running || next.id !== id);
    }
    await serves('after-ends');
    expect(await traces('stays')).toEqual(before);
  });

  test('goes on as another user, by `helm upgrade` to the kubeconfig of a Secret', async () => {
    const before = await traces('stays');
    const asked = await upgrade('kubeconfig', await api.kubeconfig(nodeUser(guest), 'certificate'));
    await serves('after-upgrade');
    expect(await traces('stays')).toEqual(before);
    // Its shim is one of a container that is gone.
    expect(await ok('exec', 'stays', '--', 'echo', 'still there')).toBe('still there\n');
    const user = `system:node:${guest}`;
    const own = api.requests.slice(asked).filter((one) => one.user === user || one.user === release.account);
    expect([...new Set(own.map((one) => one.user))]).toEqual([user]);
    expect(own.filter(({ status }) => status === 403).map(({ verb, path }) => `${verb} ${path}`)).toEqual([]);
  });

  test('asks for a certificate of its own, by `helm upgrade` to the bootstrap kubeconfig of a Secret', async () => {
    const before = await traces('stays');
    const stranger = { username: 'system:bootstrap:abcdef', groups: ['system:bootstrappers', 'system:authenticated'] };
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
    // A pod that was there before all upgrades ends as any other.
    await create('stays');
    expect(await machine.engine.onMachine('cat', '/proc/mounts')).not.toContain(before[0]?.containerID.slice(-64));
    expect(await traces('stays')).not.toEqual(before);
  });

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
    // The next run's log is empty at first.
    await poll('the sentence', async () => {
      const log = await ok('logs', '--namespace', NAMESPACE, refused.name, '--container', 'install');
      return (
        /Another agent uses the runtime at \/run\/containerd\/containerd.sock: it has made the pod kubus\//.exec(log) ??
        undefined
      );
    });
    await refused.remove();
  });

  test('fails `helm test` where the node does not run, or was never there, and says so', async () => {
    await agent.remove();
    const never = new ChartRelease(machine, 'never');
    await never.apply({ ...images, cluster: values.cluster });
    for (const [one, line] of [
      [release, 'the service does not answer'],
      [never, 'there is no node'],
    ] as const) {
      const check = one.createTestPod();
      const { status } = await check.waitFor(hasEnded);
      expect(status).toMatchObject({ phase: 'Failed' });
      expect(await ok('logs', '--namespace', NAMESPACE, check.name, '--container', 'sync-loop')).toContain(line);
      await check.remove();
    }
    agent = release.createPod();
    await serves('after-absence');
  });
});

function hasEnded({ status }: KubeObject): boolean {
  const phase = status?.['phase'];
  return phase === 'Succeeded' || phase === 'Failed';
}
