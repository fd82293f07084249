import { poll } from '@kubus/harness';
import { type AccessAttributes, Authority, TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type IncomingMessage, type Server, createServer } from 'node:http';
import type { Socket } from 'node:net';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ServerConfig } from '../src/index.ts';
import { ApiNode, NODE, podNamed, runOf } from './api-node.ts';
import { type Ask, get } from './client.ts';

/** Starts the node API, which has `cluster` review users and their access. Resolves when the cluster answers. */
export async function startGuarded(
  node: ApiNode,
  cluster: TestApiServer,
  authentication: Partial<ServerConfig['authentication']> = {},
  more: Partial<ServerConfig['authorization']> = {},
  server: Partial<ServerConfig> = {},
): Promise<void> {
  const kubeconfig = await cluster.kubeconfig(nodeUser(NODE), 'certificate');
  const authorization = { mode: 'Webhook', allowedCacheMs: 300_000, deniedCacheMs: 30_000, ...more } as const;
  await node.start(
    {
      authentication: { webhook: true, webhookCacheMs: 120_000, anonymous: false, ...authentication },
      authorization,
      ...server,
    },
    { apiServer: { kubeconfig, qps: 50, burst: 100, certDir: node.folder, rotate: false } },
  );
  const token = cluster.identities.token({ username: 'first', groups: [] });
  await poll('the API server answers', async () => {
    const { status } = await get(node.api.ports.secure, '/pods', { token });
    return status === 200 || undefined;
  });
}

/** The user who may do everything on a {@link GuardedNode}; every other user but `first` may do nothing. */
const ALLOWED = 'jane';

/**
 * A node that authenticates and authorizes requests, with the pod `web`, and a streaming server that accepts every
 * upgrade.
 */
export class GuardedNode {
  readonly node: ApiNode;
  readonly cluster: TestApiServer;
  /** The access reviews that the API server was asked for. */
  readonly asked: AccessAttributes[];
  /** The requests that have reached the streaming server. */
  readonly reached: IncomingMessage[] = [];
  /** The bytes that followed them. */
  behind = '';
  readonly #runtime: Server;
  readonly #sockets = new Set<Socket>();
  readonly #clientCaFile: string;

  private constructor(node: ApiNode, cluster: TestApiServer, asked: AccessAttributes[]) {
    this.node = node;
    this.cluster = cluster;
    this.asked = asked;
    this.#clientCaFile = join(node.folder, 'ca.crt');
    this.#runtime = createServer((_request, response) => response.end());
    this.#runtime.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#runtime.on('upgrade', (request, socket, head) => {
      this.reached.push(request);
      this.behind += head.toString();
      socket.on('error', () => undefined).on('data', (chunk: Buffer) => (this.behind += chunk.toString()));
      socket.once('end', () => socket.end());
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    });
  }

  static async make(): Promise<GuardedNode> {
    const asked: AccessAttributes[] = [];
    const cluster = await TestApiServer.start({
      authorize: (attributes) => {
        if (attributes.resource !== 'nodes') return undefined;
        asked.push(attributes);
        return ['first', ALLOWED].includes(attributes.user.username) ? undefined : 'the test says no';
      },
    });
    const node = await ApiNode.make();
    const guarded = new GuardedNode(node, cluster, asked);
    guarded.#runtime.listen(0, '127.0.0.1');
    await once(guarded.#runtime, 'listening');
    const { port } = guarded.#runtime.address() as AddressInfo;
    node.streamingUrl = `http://127.0.0.1:${port}/exec/token`;
    node.want('api', podNamed('web'));
    node.runs(podNamed('web'), [runOf('run', join(node.folder, '0.log'))]);
    await writeFile(guarded.#clientCaFile, cluster.authority.certificate);
    return guarded;
  }

  /** Starts the API; afterwards no reviews and requests are recorded. */
  async start(anonymous = false, server: Partial<ServerConfig> = {}): Promise<void> {
    await startGuarded(this.node, this.cluster, { anonymous, clientCaFile: this.#clientCaFile }, {}, server);
    const { port } = this;
    const may = { token: this.token() };
    await poll('the pod is known', async () => {
      const { status } = await get(port, '/attach/default/web/main?output=1', may);
      return status === 400 || undefined;
    });
    this.forget();
  }

  get port(): number {
    return this.node.api.ports.secure;
  }

  /** Drops the reviews and requests that were recorded so far. */
  forget(): void {
    this.node.asked.length = 0;
    this.node.events.length = 0;
    this.asked.length = 0;
    this.reached.length = 0;
    this.behind = '';
  }

  /** A token of the user who may do everything, or of another one. */
  token(username = ALLOWED): string {
    return this.cluster.identities.token({ username, groups: [] });
  }

  /** Refused credentials of each kind, and the node's user for them; undefined: not authenticated. */
  async refused(): Promise<readonly [kind: string, ask: Ask, user: string | undefined][]> {
    const { authority } = this.cluster;
    const subject = { commonName: ALLOWED, organizations: ['system:masters'] };
    return [
      ['nothing', {}, undefined],
      ['an unknown token', { token: 'made-up' }, undefined],
      [
        'a certificate of another authority',
        { certificate: await (await Authority.create()).issue(subject, 'client') },
        undefined,
      ],
      ['a certificate for servers', { certificate: await authority.issue(subject, 'server') }, undefined],
      ['a token without rights', { token: this.token('joe') }, 'joe'],
      ['a certificate without rights', { certificate: await authority.issue({ commonName: 'jim' }, 'client') }, 'jim'],
    ];
  }

  async remove(): Promise<void> {
    await this.node.remove();
    await this.cluster.close();
    const closed = once(this.#runtime, 'close');
    this.#runtime.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
