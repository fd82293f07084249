import { expect, test } from '@jest/globals';
import { Bus } from '@kubus/bus';
import {
  type Pod,
  type PodStatus,
  type ServiceName,
  configuredSources,
  desiredPods,
  podRefOf,
  podSchema,
  podStatus,
  serviceContracts,
} from '@kubus/contracts';
import { JournalingInstance } from '@kubus/journal';
import { KubeError, type KubeRequest } from '@kubus/kube';
import { Random, silentLogger, sleep } from '@kubus/ports';
import { MemoryBroker, NODE, Scheduler } from '@kubus/simulation';
import { apiPort, statusManagerCore } from '@kubus/status-manager';
import { type Cores, type StoredMessage, cores, replay } from '../src/index.ts';

const PODS = 20;

/** Pods that the API server has; one write in four fails. */
class ModelOfApi {
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #pods: Map<string, Pod>;
  #version = 1000;
  /** Called with each changed pod, like a watch. */
  changed: (pod: Pod) => void = () => undefined;

  constructor(scheduler: Scheduler, random: Random, pods: readonly Pod[]) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.#pods = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  }

  async request({ path, body }: KubeRequest): Promise<unknown> {
    await sleep(this.#scheduler, this.#random.between(1, 30));
    if (this.#random.chance(0.25)) throw new KubeError('Rejected', 'try again', { status: 500, retryAfterMs: 200 });
    const pod = this.#pods.get(path.split('/')[6] ?? '');
    if (pod === undefined) throw new KubeError('Rejected', 'there is no such pod', { status: 404 });
    const { status } = body as { status: PodStatus };
    const changed = {
      ...pod,
      metadata: { ...pod.metadata, resourceVersion: String(++this.#version) },
      status: { ...pod.status, ...status },
    };
    this.#pods.set(pod.metadata.name, changed);
    this.#scheduler.after(5, () => this.changed(changed));
    return changed;
  }
}

/** The messages of the status manager while statuses change, writes fail, and it is restarted. */
async function recordStatuses(seed: number): Promise<StoredMessage[]> {
  const random = new Random(seed);
  const scheduler = new Scheduler();
  const broker = new MemoryBroker({ scheduler, node: NODE });
  const messages: StoredMessage[] = [];
  broker.observe((message) => messages.push({ seq: messages.length + 1, message }));
  const options = (service: ServiceName, epoch: number) => ({
    ...{ node: NODE, service, instance: `${service}-0`, epoch, clock: scheduler, logger: silentLogger },
    contract: serviceContracts[service],
    transport: broker.connect(`${service}-0`),
    ids: random.fork(),
  });
  const pods = Array.from({ length: PODS }, (_, number) => podOf(`p${number}`));
  const api = new ModelOfApi(scheduler, random.fork(), pods);
  const sources = new Bus(options('config-sources', 1));
  const desired = sources.owner(desiredPods.api);
  const statuses = new Bus(options('pod-workers', 1)).owner(podStatus);
  const want = (pod: Pod) =>
    desired.put(pod.metadata.uid, { operation: 'ADD', source: 'api', pod }, { pod: pod.metadata.uid });
  api.changed = want;
  sources.owner(configuredSources).put('sources', { sources: ['api'] });
  pods.forEach(want);
  desired.complete();

  for (let life = 1; life <= 3; life++) {
    const own = options('status-manager', life);
    void JournalingInstance.join(own, (step) => void scheduler.after(0, step)).then((journal) =>
      journal.run(
        statusManagerCore,
        { rate: { qps: 50, burst: 100 }, eventRate: { qps: 50, burst: 100 } },
        { api: apiPort({ request: (request) => api.request(request) }) },
      ),
    );
    for (const pod of pods) {
      const ref = podRefOf(pod);
      const phase = random.pick(['Pending', 'Running'] as const);
      statuses.put(ref.uid, { ref, status: { phase, message: `in life ${life}` } }, { pod: ref.uid });
      await scheduler.run(() => false, random.between(0, 200));
    }
    await scheduler.run(() => false, 5_000);
    own.transport.kill();
  }
  return messages;
}

function podOf(name: string): Pod {
  return podSchema.parse({
    metadata: { namespace: 'default', name, uid: `uid-${name}`, resourceVersion: '1' },
    spec: { containers: [{ name: 'main', image: 'image' }] },
  });
}

test('the lives of a status manager are replayed from its messages and the responses of the API server', async () => {
  const messages = await recordStatuses(1);
  const reports = await replay(messages);
  expect(
    reports.map(({ instance, epoch, gap, notCovered, difference }) => ({
      instance,
      epoch,
      gap,
      notCovered,
      difference,
    })),
  ).toEqual(
    [1, 2, 3].map((epoch) => ({
      instance: 'status-manager-0',
      epoch,
      gap: undefined,
      notCovered: 0,
      difference: undefined,
    })),
  );
  for (const { epoch, equal } of reports) expect([epoch, equal > PODS]).toEqual([epoch, true]);
});

test('a different request to the API server is detected although it is not a message', async () => {
  const messages = await recordStatuses(2);
  const start: typeof statusManagerCore.start = (ports, inputs, { api }) =>
    statusManagerCore.start(ports, inputs, {
      api: { request: (request) => api.request({ ...request, path: `${request.path}/x` }) },
    });
  const mutated: Cores = { ...cores, 'status-manager': { ...statusManagerCore, start } };
  const [first] = await replay(messages, { cores: mutated });
  expect(first?.difference?.what).toContain('api.request');
});
