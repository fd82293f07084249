import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type LoggedRequest, TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { type Clock, silentLogger } from '@kubus/ports';
import { X509Certificate } from 'node:crypto';
import { chmod, mkdtemp, readFile, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { certificateRequest } from '../src/certificate-request.ts';
import { ClientCertificates } from '../src/client-certificates.ts';
import { KubeClient } from '../src/kube-client.ts';
import { newPrivateKey } from '../src/request-certificate.ts';

const NODE = 'node0';
const ADMIN_CSR = { username: 'system:bootstrap:abc', groups: ['system:bootstrappers', 'system:authenticated'] };
const path = '/api/v1/namespaces/default/configmaps';

/** The machine's clock, which the test can advance; timers that are then due fire at once. */
class Clockwork implements Clock {
  #ahead = 0;
  readonly #timers = new Set<{ at: number; run: () => void; handle: NodeJS.Timeout }>();

  now(): number {
    return Date.now() + this.#ahead;
  }

  after(ms: number, action: () => void): () => void {
    const timer = {
      at: this.now() + ms,
      run: () => {
        clearTimeout(timer.handle);
        if (this.#timers.delete(timer)) action();
      },
      handle: setTimeout(() => timer.run(), Math.min(ms, 2 ** 31 - 1)).unref(),
    };
    this.#timers.add(timer);
    return () => {
      clearTimeout(timer.handle);
      this.#timers.delete(timer);
    };
  }

  forward(ms: number): void {
    this.#ahead += ms;
    for (const timer of [...this.#timers]) if (timer.at <= this.now()) timer.run();
  }
}

let dir: string;
let api: TestApiServer;
let clock: Clockwork;
let approved: boolean;
const ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-credentials-'));
  approved = true;
  api = await TestApiServer.start({ approve: () => approved, certificateMs: 3_600_000 });
  clock = new Clockwork();
});

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await api.close();
  await rm(dir, { recursive: true });
});

async function open(kubeconfig: string): Promise<KubeClient> {
  const client = await KubeClient.open({ kubeconfig, userAgent: 'kubus-test', clock, logger: silentLogger });
  ends.push(() => client.close());
  return client;
}

const lastUser = () => api.requests.filter((request) => request.path === path).at(-1)?.user;

describe('a client', () => {
  test('authenticates with its certificate, and with a new one as soon as the files change', async () => {
    const [first, second] = [
      await api.kubeconfig(nodeUser('a'), 'certificate'),
      await api.kubeconfig(nodeUser('b'), 'certificate'),
    ];
    const kubeconfig = join(dir, 'kubeconfig');
    await symlink(first, kubeconfig);
    const client = await open(kubeconfig);
    await client.request({ method: 'GET', path });
    expect(lastUser()).toBe('system:node:a');

    const opened = Promise.withResolvers<undefined>();
    const { signal } = new AbortController();
    const watched = client.watch({ path, signal, opened: () => opened.resolve(undefined), event: () => undefined });
    await opened.promise;
    await rm(kubeconfig);
    await symlink(second, kubeconfig);
    clock.forward(10_000);
    // Connections that were opened with the first identity are closed automatically.
    await expect(watched).rejects.toMatchObject({ code: 'Unreachable' });
    await client.request({ method: 'GET', path });
    expect(lastUser()).toBe('system:node:b');
  });

  test('keeps its credentials while the files are invalid', async () => {
    const kubeconfig = join(dir, 'kubeconfig');
    await writeFile(kubeconfig, await readFile(await api.kubeconfig(nodeUser('a')), 'utf8'));
    const client = await open(kubeconfig);
    await writeFile(kubeconfig, 'clusters: [');
    clock.forward(10_000);
    await client.request({ method: 'GET', path });
    expect(lastUser()).toBe('system:node:a');
  });

  test('gets credentials from a plugin, run in the plugin’s folder, and again after a 401', async () => {
    const document = parse(await readFile(await api.kubeconfig(nodeUser('a')), 'utf8')) as {
      users: { user: Record<string, unknown> }[];
    };
    const [user] = document.users;
    const token = user?.user['token'];
    const plugin = join(dir, 'plugin');
    const script = `#!/bin/sh
case "$KUBERNETES_EXEC_INFO" in *ExecCredential*) ;; *) exit 1 ;; esac
echo call >> '${dir}/calls'
[ "$(wc -l < '${dir}/calls')" = 1 ] && token=wrong || token='${String(token)}'
echo '{"kind": "ExecCredential", "status": {"token": "'"$token"'"}}'
`;
    await writeFile(plugin, script);
    await chmod(plugin, 0o755);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin', interactiveMode: 'Never' };
    if (user !== undefined) user.user = { exec };
    const kubeconfig = join(dir, 'kubeconfig');
    await writeFile(kubeconfig, stringify(document));
    const client = await open(kubeconfig);
    await client.request({ method: 'GET', path });
    await client.request({ method: 'GET', path });
    expect(lastUser()).toBe('system:node:a');
    expect(await readFile(join(dir, 'calls'), 'utf8')).toBe('call\ncall\n');
  });

  test('does not talk to a server whose certificate its CA did not sign', async () => {
    const other = await TestApiServer.start();
    ends.push(() => other.close());
    const text = await readFile(await api.kubeconfig(nodeUser('a')), 'utf8');
    const kubeconfig = join(dir, 'kubeconfig');
    await writeFile(kubeconfig, text.replace(api.url, other.url));
    const client = await open(kubeconfig);
    await expect(client.request({ method: 'GET', path })).rejects.toMatchObject({ code: 'Unreachable' });
    expect(other.requests).toEqual([]);
  });
});

describe('the node’s client certificate', () => {
  let kubeconfig: string;
  let certDir: string;

  async function begin(rotate = true): Promise<ClientCertificates> {
    kubeconfig = join(dir, 'kubelet.conf');
    certDir = join(dir, 'pki');
    const bootstrap = { kubeconfig: await api.kubeconfig(ADMIN_CSR) };
    const certificates = new ClientCertificates({
      node: NODE,
      apiServer: { kubeconfig, bootstrap, certDir, rotate },
      clock,
      logger: silentLogger,
      random: () => 0.5,
    });
    certificates.start();
    ends.push(() => certificates.stop());
    return certificates;
  }

  const isOrder = ({ verb, path: at }: LoggedRequest) => verb === 'create' && at.includes('certificatesigningrequests');
  const requests = () => api.list('CertificateSigningRequest');
  const current = async () => new X509Certificate(await readFile(join(certDir, 'kubelet-client-current.pem')));

  test('is requested if missing, and renewed in time', async () => {
    await begin();
    const client = await open(kubeconfig);
    await client.request({ method: 'GET', path });
    expect(lastUser()).toBe(`system:node:${NODE}`);

    const [request] = requests();
    expect(request?.spec).toMatchObject({
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
      username: 'system:bootstrap:abc',
    });
    const first = await current();
    expect(first.subject.split('\n').sort()).toEqual([`CN=system:node:${NODE}`, 'O=system:nodes']);
    const files = await readdir(certDir);
    expect(files.sort()).toEqual(
      [await readlink(join(certDir, 'kubelet-client-current.pem')), 'kubelet-client-current.pem'].sort(),
    );
    for (const file of [kubeconfig, join(certDir, 'kubelet-client-current.pem')]) {
      expect((await stat(file)).mode & 0o777).toBe(0o600);
    }

    clock.forward(0.6 * 3_600_000);
    expect(requests()).toHaveLength(1);
    clock.forward(0.25 * 3_600_000);
    await api.waitForRequest((one) => isOrder(one) && one.user === `system:node:${NODE}`);
    while ((await current()).serialNumber === first.serialNumber) await new Promise(setImmediate);
  });

  test('is requested again when that of the kubeconfig has expired', async () => {
    const key = newPrivateKey();
    const asked = await certificateRequest({ commonName: 'old', organizations: [] }, key);
    const expired = await api.authority.sign(asked, ['client'], -1_000);
    const pair = join(dir, 'old.pem');
    await writeFile(pair, `${expired}\n${key}`);
    const user = { 'client-certificate': pair, 'client-key': pair };
    const document = parse(await readFile(await api.kubeconfig(nodeUser('a')), 'utf8')) as { users: object[] };
    const [named] = document.users;
    await writeFile(join(dir, 'kubelet.conf'), stringify({ ...document, users: [{ ...named, user }] }));
    const { fault } = await begin(false);
    await api.waitForRequest(isOrder);
    const client = await open(kubeconfig);
    while (!(await readFile(kubeconfig, 'utf8')).includes(certDir)) await new Promise(setImmediate);
    clock.forward(10_000);
    await client.request({ method: 'GET', path });
    expect([lastUser(), fault]).toEqual([`system:node:${NODE}`, undefined]);
  });

  test('is awaited across a restart with the same request, and requested again when denied', async () => {
    approved = false;
    const first = await begin();
    const created = () => api.requests.filter(isOrder);
    await api.waitForRequest(({ verb, path: at }) => verb === 'watch' && at.includes('certificatesigningrequests'));
    await first.stop();
    const second = await begin();
    await api.waitForRequest(
      (request) => created().length === 2 && request === created()[1] && request.status !== undefined,
    );
    expect(requests()).toHaveLength(1);
    const [{ metadata } = { metadata: { name: '' } }] = requests();
    approved = true;
    api.patch(
      { kind: 'CertificateSigningRequest', name: metadata.name },
      { status: { conditions: [{ type: 'Denied', status: 'True', reason: 'No', message: 'not you' }] } },
      { subresource: 'approval' },
    );
    while (second.fault === undefined) await new Promise(setImmediate);
    expect(second.fault).toContain('Denied: No not you');
    clock.forward(2_000);
    const client = await open(kubeconfig);
    await client.request({ method: 'GET', path });
    expect(requests()).toHaveLength(2);
    expect(second.fault).toBeUndefined();
    expect(await readdir(certDir)).not.toContain('kubelet-client.key.tmp');
  });
});
