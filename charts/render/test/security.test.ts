import { describe, expect, test } from '@jest/globals';
import { containerServices } from '@kubus/launcher';
import { glob, readFile } from 'node:fs/promises';
import * as z from 'zod';
import { matrix } from './matrix.ts';
import { type Container, type RenderedPod, containerOf, render, renderPod } from './rendered-pod.ts';

const H = '/var/lib/kubus/kubus';
const S = '/run/kubus/kubus';

/** A node with all optional parts of the chart. */
const member = {
  cluster: { mode: 'serviceAccount' },
  nodeApi: { clientCaConfigMap: 'ca' },
  manifests: { hostPath: '/etc/kubus/manifests' },
  services: { observatory: { enabled: true } },
};

/** The privileges and host paths of every container besides its own folders. A change here is a change of security. */
const written: Readonly<Record<string, { user: number; rights: string; machine: readonly string[] }>> = {
  install: {
    user: 0,
    rights: 'CHOWN DAC_OVERRIDE FOWNER FSETID',
    machine: ['/var/lib/kubus rw', '/run/kubus rw'],
  },
  nats: { user: 65_532, rights: '', machine: [`${H}/containers/nats ro`] },
  containerd: {
    user: 0,
    rights: 'privileged',
    machine: [
      `${H} rw Bidirectional`,
      `${S} rw Bidirectional`,
      '/run/containerd/s rw',
      '/sys/fs/cgroup rw',
      '/lib/modules ro',
    ],
  },
  'import-images': { user: 0, rights: '', machine: [`${S}/containerd rw`] },
  'config-sources': { user: 65_532, rights: '', machine: ['/etc/kubus/manifests ro'] },
  'sync-loop': { user: 65_532, rights: '', machine: [] },
  'pod-workers': {
    user: 0,
    rights: 'CHOWN DAC_OVERRIDE FOWNER KILL',
    machine: [
      `${H}/pods rw HostToContainer`,
      `${H}/pod-logs rw HostToContainer`,
      `${H}/log-links rw HostToContainer`,
      '/sys/fs/cgroup rw',
      '/etc/resolv.conf ro',
    ],
  },
  'cri-bridge': {
    user: 0,
    rights: 'DAC_OVERRIDE',
    machine: [
      `${S}/containerd rw`,
      `${H}/containerd ro`,
      `${H}/pods ro HostToContainer`,
      `${S}/sockets/object-cache ro`,
    ],
  },
  'cni-bridge': { user: 0, rights: 'privileged', machine: [`${H}/cni ro`] },
  'object-cache': { user: 65_532, rights: '', machine: [] },
  'volume-manager': {
    user: 0,
    rights: 'privileged',
    machine: [`${H}/pods rw Bidirectional`, `${S}/sockets/object-cache ro`],
  },
  prober: { user: 65_532, rights: '', machine: [] },
  'status-manager': { user: 65_532, rights: '', machine: [] },
  'node-agent': {
    user: 0,
    rights: 'DAC_OVERRIDE',
    machine: [`${H}/pods rw HostToContainer`, '/etc/machine-id ro', '/etc/os-release ro'],
  },
  'node-api': {
    user: 0,
    rights: 'DAC_OVERRIDE SYS_PTRACE',
    machine: [
      `${H}/pods rw HostToContainer`,
      `${H}/pod-logs rw HostToContainer`,
      '/sys/fs/cgroup ro',
      '/var/log ro',
      `${H}/containerd ro`,
    ],
  },
  observatory: { user: 65_532, rights: '', machine: [] },
  launcher: { user: 65_532, rights: '', machine: [`${S}/control rw`] },
};

const rightsOf = ({ securityContext: { privileged, capabilities } }: Container) =>
  privileged ? 'privileged' : capabilities === undefined ? 'default' : capabilities.add.join(' ');

/** The host paths of a container: path, writable or not, propagation. */
function machineOf(pod: RenderedPod, { name, volumeMounts }: Container): string[] {
  const own = [
    `${H}/containers/config ro`,
    `${H}/containers/identities/${name} ro`,
    `${H}/state/${name} rw`,
    `${S}/control/${name} rw`,
    `${S}/sockets/${name} rw`,
  ];
  return volumeMounts
    .flatMap(({ name: volume, readOnly, mountPropagation = '' }) => {
      const path = pod.volumes.find((one) => one.name === volume)?.hostPath?.path;
      return path === undefined ? [] : [`${path} ${readOnly ? 'ro' : 'rw'} ${mountPropagation}`.trim()];
    })
    .filter((path) => !own.includes(path));
}

test('privileges and host paths are the documented ones', async () => {
  const pod = await renderPod(member);
  const rendered = [...pod.initContainers, ...pod.containers].map(
    (one) =>
      [one.name, { user: one.securityContext.runAsUser, rights: rightsOf(one), machine: machineOf(pod, one) }] as const,
  );
  expect(Object.fromEntries(rendered)).toEqual(written);
});

test('a container of several services has what they have together, and no more', async () => {
  const pod = await renderPod(matrix['groups of a guest']);
  const of = (name: string) => {
    const one = containerOf(pod, name);
    const user = one.securityContext.runAsUser;
    return { user, rights: rightsOf(one), machine: machineOf(pod, one).filter((path) => !path.includes('/state/')) };
  };
  expect(of('services-values')).toEqual({
    user: 0,
    rights: 'privileged',
    machine: [
      `${S}/sockets/object-cache rw`,
      `${H}/credentials ro`,
      '/srv/data ro',
      `${H}/containerd ro`,
      `${H}/pods rw Bidirectional`,
      `${S}/containerd rw`,
    ],
  });
  expect(of('services-writes')).toEqual({ user: 65_532, rights: '', machine: [`${H}/credentials ro`] });
  // It has the state of prober-0, which is root's.
  expect(of('prober-1')).toEqual({
    user: 0,
    rights: '',
    machine: [`${H}/containers/identities/prober ro`, `${S}/control/prober rw`],
  });
  const states = containerOf(pod, 'services-values').volumeMounts.map(({ name }) => name);
  expect(states.filter((name) => name.startsWith('state-'))).toEqual(
    ['cri-bridge', 'volume-manager', 'object-cache', 'prober'].map((name) => `state-${name}`),
  );
  const control = containerOf(await renderPod(matrix['groups that share containers']), 'services-control');
  expect([control.securityContext.runAsUser, rightsOf(control)]).toEqual([0, 'CHOWN DAC_OVERRIDE FOWNER KILL']);
});

test('users and capabilities are those of the contract', async () => {
  const contract = await readFile(new URL('../../../docs/containers.md', import.meta.url), 'utf8');
  const rows = [...contract.matchAll(/^\| (`[a-z`, -]+`) \| (kubus|root) \| ([A-Za-z_, ]+) \|/gm)];
  const documented = rows.flatMap(([, names = '', user, rights = '']) =>
    names.match(/[a-z-]+/g)?.map((name) => [name, { user: user === 'root' ? 0 : 65_532, rights }]),
  );
  const services = Object.fromEntries(documented.filter((row) => row !== undefined)) as Record<
    string,
    { user: number; rights: string }
  >;
  expect(Object.keys(services)).toEqual(expect.arrayContaining([...containerServices, 'install']));
  for (const name of [...containerServices, 'install']) {
    const rights = services[name]?.rights.replaceAll(',', '').replace(/^none$/, '');
    expect([name, written[name]]).toEqual([name, expect.objectContaining({ user: services[name]?.user, rights })]);
  }
});

describe.each(Object.entries({ ...matrix, member }))('%s', (_, values) => {
  test('no container has more privileges than it was granted', async () => {
    const pod = await renderPod(values);
    expect(pod.automountServiceAccountToken).toBe(false);
    for (const { name, securityContext } of [...pod.initContainers, ...pod.containers]) {
      expect([name, securityContext.readOnlyRootFilesystem]).toEqual([name, name !== 'containerd']);
      if (securityContext.privileged) continue;
      expect([name, securityContext.allowPrivilegeEscalation]).toEqual([name, false]);
      expect([name, securityContext.capabilities?.drop]).toEqual([name, ['ALL']]);
    }
  });

  test('a service sees only its own identity, and only clients of the API server see credentials', async () => {
    const pod = await renderPod(values);
    const credentials: string[] = [];
    for (const container of pod.containers) {
      const service = container.args[1]?.replace(/-\d$/, '');
      const paths = container.volumeMounts.map(
        ({ name }) => pod.volumes.find((one) => one.name === name)?.hostPath?.path ?? name,
      );
      const identities = paths.filter((path) => path.includes('/identities'));
      const expected =
        container.args[0] === 'service' ? [expect.stringMatching(`/containers/identities/${service}$`)] : [];
      expect([container.name, identities]).toEqual([container.name, expected]);
      // The folder of all keys, or a parent of it. The runtime has the node's home; it is fully privileged anyway.
      const above = paths.filter((path) => /^\/var\/lib\/kubus(\/[^/]+(\/config|\/containers)?)?$/.test(path));
      if (container.name !== 'containerd') expect([container.name, above]).toEqual([container.name, []]);
      if (paths.includes('cluster')) credentials.push(container.name);
    }
    const asking = ['config-sources', 'object-cache', 'status-manager', 'node-agent', 'node-api'];
    expect(asking).toEqual(expect.arrayContaining(credentials));
  });
});

test('the bootstrap credentials are mounted into node-agent only, which writes credentials for the other services', async () => {
  const pod = await renderPod(matrix['a guest by bootstrap']);
  const seen = pod.containers.flatMap(({ name, volumeMounts }) =>
    volumeMounts
      .filter((mount) => mount.name === 'cluster' || mount.name === 'credentials')
      .map((mount) => `${name} ${mount.name} ${mount.readOnly ? 'ro' : 'rw'}`),
  );
  expect(seen).toEqual([
    'config-sources credentials ro',
    'object-cache credentials ro',
    'status-manager credentials ro',
    'node-agent credentials rw',
    'node-agent cluster ro',
    'node-api credentials ro',
  ]);
});

/** The requests of each service to the API server, and where its sources make them. */
const asked: readonly [rule: string, why: string][] = [
  ['/pods list watch', 'config-sources/src/api-source.ts'],
  ['/pods create', 'status-manager/src/writes.ts: mirror pods'],
  ['/pods delete', 'status-manager/src/writes.ts: mirror pods and pods that have ended'],
  ['/pods/status patch', 'status-manager/src/writes.ts'],
  ['/events create patch', 'status-manager/src/event-writer.ts'],
  ['/nodes get', 'node-agent/src/node-agent.ts: after a conflict'],
  ['/nodes list watch', 'node-agent/src/node-follower.ts'],
  ['/nodes create', 'node-agent/src/node-agent.ts: registers'],
  ['/nodes/status patch', 'node-agent/src/node-agent.ts'],
  ['coordination.k8s.io/leases get create update', 'node-agent/src/lease-keeper.ts, in kube-node-lease'],
  ['storage.k8s.io/csinodes get create update delete', 'node-agent/src/csi-node-keeper.ts'],
  ['/configmaps list watch', 'object-cache/src/followed-object.ts'],
  ['/secrets list watch', 'object-cache/src/followed-object.ts'],
  ['/services list watch', 'object-cache/src/services-by-namespace.ts'],
  ['/serviceaccounts get', 'object-cache/src/service-accounts.ts'],
  ['/serviceaccounts/token create', 'object-cache/src/tokens.ts'],
  ['/persistentvolumeclaims get', 'object-cache/src/followed-claim.ts; status-manager/src/claim-writer.ts'],
  ['/persistentvolumeclaims/status patch', 'status-manager/src/claim-writer.ts'],
  ['/persistentvolumes get', 'object-cache/src/followed-claim.ts'],
  ['node.k8s.io/runtimeclasses list watch', 'object-cache/src/runtime-classes.ts'],
  ['storage.k8s.io/csidrivers list watch', 'object-cache/src/storage.ts'],
  ['storage.k8s.io/volumeattachments get', 'object-cache/src/attachments.ts'],
  ['resource.k8s.io/resourceclaims get', 'node-agent/src/claims/claim-manager.ts'],
  ['resource.k8s.io/resourceslices deletecollection', 'node-agent/src/claims/slice-wiper.ts'],
  ['certificates.k8s.io/clustertrustbundles list watch', 'object-cache/src/trust-bundles.ts'],
  ['authentication.k8s.io/tokenreviews create', 'node-api/src/auth/authentication.ts'],
  ['authorization.k8s.io/subjectaccessreviews create', 'node-api/src/auth/authorization.ts'],
];

const rulesSchema = z.array(
  z.strictObject({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }),
);

async function rulesOf(values: object): Promise<string[]> {
  const { manifests } = await render(values as Record<string, unknown>);
  const rules = manifests
    .filter(({ kind }) => /^(Cluster)?Role$/.test(kind))
    .flatMap((one) => rulesSchema.parse(one['rules']));
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((what) => verbs.map((verb) => `${group}/${what} ${verb}`))),
  );
}

test('the RBAC rules allow exactly the requests of the services', async () => {
  const wanted = asked.flatMap(([rule]) => {
    const [what = '', ...verbs] = rule.split(' ');
    return verbs.map((verb) => `${what} ${verb}`);
  });
  expect((await rulesOf(member)).sort()).toEqual(wanted.sort());
  const withoutApi = wanted.filter((rule) => !/reviews /.test(rule));
  expect((await rulesOf({ ...member, nodeApi: { port: 0 } })).sort()).toEqual(withoutApi.sort());
});

test('every resource that a service requests is in the table', async () => {
  const services = new URL('../../../services/', import.meta.url);
  const named = new Set<string>();
  for await (const file of glob('*/src/**/*.ts', { cwd: services })) {
    const text = file.endsWith('.test.ts') ? '' : await readFile(new URL(file, services), 'utf8');
    if (!text.includes('kubePath(')) continue;
    for (const [, resource = ''] of text.matchAll(/\bresource: '([a-z]+)'/g)) named.add(resource);
  }
  // These two depend on the references of pods.
  expect(new Set([...named, 'configmaps', 'secrets'])).toEqual(
    new Set(asked.map(([rule]) => /\/([a-z]+)/.exec(rule)?.[1])),
  );
});

test('the chart mounts no Secrets: seeds never leave the machine', async () => {
  const kinds = (await render({})).manifests.map(({ kind }) => kind);
  expect(kinds).not.toContain('Secret');
  expect(containerOf(await renderPod({}), 'install').volumeMounts.map(({ name }) => name)).toEqual([
    'lib',
    'run',
    'overlay',
    'tmp-install',
  ]);
});
