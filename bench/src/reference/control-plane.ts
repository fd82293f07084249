import { type RunningCommand, poll, startCommand } from '@kubus/harness';
import { Cluster } from '@kubus/kube-fixture';
import { freePorts } from '@kubus/launcher';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A kube-apiserver with an etcd on the loopback of this machine, without controllers, in which everybody may do everything. */
export class ControlPlane {
  readonly api: Cluster;
  /** For the administrator and for every node. */
  readonly kubeconfig: string;
  readonly port: number;
  readonly #folder: string;
  readonly #processes: readonly RunningCommand[];

  /** @param programs paths of kube-apiserver and etcd */
  static async start(programs: { readonly apiserver: string; readonly etcd: string }): Promise<ControlPlane> {
    const folder = await mkdtemp(join(tmpdir(), 'kubus-bench-'));
    const [port = 0, client = 0, peer = 0] = await freePorts(3);
    const processes: RunningCommand[] = [];
    try {
      processes.push(startCommand(programs.etcd, etcdFlags(folder, client, peer), {}));
      const token = randomBytes(16).toString('hex');
      const flags = await apiServerFlags(folder, { port, etcd: client, token });
      const server = startCommand(programs.apiserver, flags, {});
      processes.push(server);
      const kubeconfig = join(folder, 'kubeconfig');
      const api = await poll('kube-apiserver', async () => {
        if (server.child.exitCode !== null) throw new Error(`kube-apiserver has ended:\n${server.written.stderr}`);
        const authority = await readFile(join(folder, 'certs/apiserver.crt'), 'utf8').catch(() => undefined);
        if (authority === undefined) return undefined;
        await writeFile(kubeconfig, kubeconfigOf(port, authority, token), { mode: 0o600 });
        const cluster = Cluster.open(kubeconfig);
        const answer = await cluster.raw('GET', '/readyz').catch(() => undefined);
        return answer?.code === 200 ? cluster : undefined;
      });
      return new ControlPlane({ api, kubeconfig, port, folder, processes });
    } catch (error) {
      for (const one of processes) await one.end('SIGKILL');
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(parts: {
    api: Cluster;
    kubeconfig: string;
    port: number;
    folder: string;
    processes: readonly RunningCommand[];
  }) {
    this.api = parts.api;
    this.kubeconfig = parts.kubeconfig;
    this.port = parts.port;
    this.#folder = parts.folder;
    this.#processes = parts.processes;
  }

  async stop(): Promise<void> {
    for (const one of [...this.#processes].reverse()) await one.end();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function etcdFlags(folder: string, client: number, peer: number): string[] {
  const [own, others] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync',
    '--log-level=error',
    ...[`--listen-client-urls=${own}`, `--advertise-client-urls=${own}`],
    ...[
      `--listen-peer-urls=${others}`,
      `--initial-advertise-peer-urls=${others}`,
      `--initial-cluster=default=${others}`,
    ],
  ];
}

async function apiServerFlags(
  folder: string,
  { port, etcd, token }: { port: number; etcd: number; token: string },
): Promise<string[]> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const write = async (name: string, content: string) => {
    await writeFile(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  return [
    `--etcd-servers=http://127.0.0.1:${etcd}`,
    ...[`--secure-port=${port}`, '--bind-address=127.0.0.1', '--advertise-address=10.96.0.2'],
    ...[`--cert-dir=${join(folder, 'certs')}`, '--endpoint-reconciler-type=none'],
    `--token-auth-file=${await write('tokens.csv', `${token},bench,1,"system:masters"\n`)}`,
    `--service-account-key-file=${await write('accounts.pub', publicKey)}`,
    `--service-account-signing-key-file=${await write('accounts.key', privateKey)}`,
    ...['--service-account-issuer=https://kubernetes.default.svc', '--service-cluster-ip-range=10.96.0.0/16'],
    ...['--authorization-mode=AlwaysAllow', '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition'],
  ];
}

function kubeconfigOf(port: number, authority: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'bench',
        cluster: {
          server: `https://127.0.0.1:${port}`,
          'certificate-authority-data': Buffer.from(authority).toString('base64'),
        },
      },
    ],
    users: [{ name: 'bench', user: { token } }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    'current-context': 'bench',
  });
}
