import { HEADER } from '@kubus/bus';
import { LocalBroker, type LocalMember } from '@kubus/bus/testing';
import {
  type ClusterNode,
  type NodeEvent,
  type RuntimeCondition,
  clusterNode,
  csiPlugin,
  networkCondition,
  nodeAgentEvent,
  runtimeCondition,
  runtimeImages,
  typeOf,
  volumesInUse,
} from '@kubus/contracts';
import { KubeClient } from '@kubus/kube';
import { type KubeObject, type LoggedRequest, TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { type Logger, silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { NodeAgent, type NodeAgentOptions } from '../src/node/node-agent.ts';

export const NAME = 'node0';
export const NODE = { kind: 'Node', name: NAME };
export const LEASE = { kind: 'Lease', namespace: 'kube-node-lease', name: NAME };

/** Far more than any work within one process needs. */
const TURNS = 100_000;
/** Turns after an answer in which requests that follow from it are made. */
const QUIET_TURNS = 5;

export const RUNTIME: RuntimeCondition = {
  ...{ ready: true, name: 'containerd', version: '1.6.20' },
  ...{ network: 'cni-bridge', networkReady: false, events: 'containerd' },
};

/** What the agent reads of its machine. */
export const MACHINE: NodeAgentOptions['machine'] = {
  info: () => ({
    ...{ architecture: 'amd64', machineId: 'm', systemUuid: 's', bootId: 'b', kernelVersion: '6', osImage: 'o' },
    swapBytes: 0,
  }),
  capacity: () => ({ cpu: '2', memory: '4Gi', pods: '110', 'ephemeral-storage': '10Gi' }),
  devices: () => ({ capacity: {}, allocatable: {} }),
  addresses: () => Promise.resolve({ addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] }),
};

/** A node agent of a cluster in this process: a test API server, a bus, and a clock that only the test advances. */
export class Member {
  readonly server: TestApiServer;
  readonly clock = new ManualClock(Date.UTC(2030, 0, 1));
  readonly broker = new LocalBroker(NAME);
  /** What the other services publish. */
  readonly runtime = this.broker.join('cri-bridge', this.clock).bus.owner(runtimeCondition);
  readonly images = this.broker.join('cri-bridge', this.clock).bus.owner(runtimeImages);
  readonly network = this.broker.join('cni-bridge', this.clock).bus.owner(networkCondition);
  readonly plugins = this.broker.join('volume-manager', this.clock).bus.owner(csiPlugin);
  readonly inUse = this.broker.join('volume-manager', this.clock).bus.owner(volumesInUse);
  readonly #reader = this.broker.join('cri-bridge', this.clock).bus.reader(clusterNode, {
    changed: () => this.#received(),
    removed: () => this.#received(),
    complete: () => this.#received(),
  });
  /** Number of requests that the agent has made. */
  asked = 0;
  #listeners: (() => void)[] = [];
  #epoch = 0;
  #asking = 0;
  #running: { agent: NodeAgent; client: KubeClient; member: LocalMember } | undefined;

  static async make(): Promise<Member> {
    return new Member(await TestApiServer.start());
  }

  private constructor(server: TestApiServer) {
    this.server = server;
  }

  /** Starts the agent, or its next process. */
  async start(over: Partial<NodeAgentOptions> = {}, logger: Logger = silentLogger): Promise<void> {
    const { clock } = this;
    const kubeconfig = await this.server.kubeconfig(nodeUser(NAME));
    const client = await KubeClient.open({ kubeconfig, userAgent: 'test', clock, logger });
    const member = this.broker.join('node-agent', clock, ++this.#epoch);
    const agent = new NodeAgent({
      ...{ clock, logger, bus: member.bus, name: NAME, hostname: NAME },
      client: {
        watch: (watch) => client.watch(watch),
        request: (request) => {
          this.#asking += 1;
          this.asked += 1;
          return client.request(request).finally(() => (this.#asking -= 1));
        },
      },
      ids: { hex: (bytes) => '0'.repeat(2 * bytes), fraction: () => 0.5 },
      nodeIps: [],
      initial: {
        ...{ labels: { own: 'yes' }, taints: [], providerId: '', externalCloud: false },
        ...{ controllerAttachDetach: true, schedulable: true },
      },
      ...{ register: true, statusEveryMs: 10_000, reportEveryMs: 300_000, leaseSeconds: 40, maxImages: 50 },
      ...{ version: 'v1.36.2+kubus.test', port: 10_250 },
      reserved: { system: { cpu: '500m' }, kube: {}, evictionHard: {} },
      machine: MACHINE,
      ...over,
    });
    this.#running = { agent, client, member };
    agent.start();
  }

  /** Publishes what the other services of a node publish when it can run pods. */
  becomeReady(): void {
    this.runtime.put('runtime', RUNTIME);
    this.network.put('network', { ready: true, broken: [] });
  }

  /** Its machine has changed. */
  changed(): void {
    this.#running?.agent.changed();
  }

  /** Stops the agent. */
  async stop(): Promise<void> {
    this.#running?.agent.stop();
    this.#running?.member.leave();
    await this.#running?.client.close();
    this.#running = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.server.close();
  }

  /** Resolves with the Node object as the other services receive it, as soon as `is` accepts it. */
  async untilNode(is: (node: ClusterNode | undefined) => boolean): Promise<ClusterNode | undefined> {
    for (;;) {
      const node = this.#reader.get(NAME)?.value;
      if (is(node)) return node;
      await new Promise<void>((resolve) => this.#listeners.push(resolve));
    }
  }

  /** Advances the clock from timer to timer; requests that each timer makes are answered before the next one. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.now() + ms;
    await this.settle();
    while (this.clock.now() < end) {
      const [next = ms] = this.clock.waits;
      await this.clock.advance(Math.min(next, end - this.clock.now()));
      await this.settle();
    }
  }

  /** Resolves when no request is pending, and all answers have been processed. */
  async settle(): Promise<void> {
    let quiet = 0;
    await this.until(() => (quiet = this.#asking === 0 ? quiet + 1 : 0) > QUIET_TURNS);
  }

  /** Checks the condition after each turn of the event loop, for a limited number of turns. */
  async until(is: () => boolean): Promise<void> {
    for (let turn = 0; !is(); turn++) {
      if (turn === TURNS) throw new Error('the awaited condition was not reached');
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The reasons of the recorded Kubernetes events. */
  get events(): readonly string[] {
    const type = typeOf(nodeAgentEvent);
    return this.broker.said.flatMap(({ headers, data }) =>
      Object.values(headers).includes(type) ? [(JSON.parse(data) as NodeEvent).reason] : [],
    );
  }

  /** The types of the messages that caused each recorded Kubernetes event. */
  get causesOfEvents(): readonly (readonly string[])[] {
    const { said } = this.broker;
    const types = new Map(
      said.map(({ headers: own }) => {
        const id = [HEADER.source, HEADER.epoch, HEADER.seq].map((name) => own[name]).join('.');
        return [id, own[HEADER.type] ?? ''];
      }),
    );
    const events = said.filter(({ headers }) => headers[HEADER.type] === typeOf(nodeAgentEvent));
    return events.map(({ headers }) => (headers[HEADER.causes] ?? '').split(',').map((id) => types.get(id) ?? id));
  }

  /** Requests that were sent and answered, without lists and watches. */
  requests(kind: 'nodes' | 'leases', verb?: string): readonly LoggedRequest[] {
    return this.server.requests.filter(
      (one) =>
        one.path.includes(`/${kind}`) && one.status !== undefined && isWrite(one) && one.verb === (verb ?? one.verb),
    );
  }

  #received(): void {
    for (const resolve of this.#listeners.splice(0)) resolve();
  }
}

function isWrite({ verb }: LoggedRequest): boolean {
  return ['create', 'update', 'patch'].includes(verb);
}

export function conditionOf(node: KubeObject | undefined, type: string): Record<string, unknown> | undefined {
  const conditions = (node?.status?.['conditions'] ?? []) as Record<string, unknown>[];
  return conditions.find((one) => one['type'] === type);
}

export const isReady = (node: KubeObject): boolean => conditionOf(node, 'Ready')?.['status'] === 'True';
