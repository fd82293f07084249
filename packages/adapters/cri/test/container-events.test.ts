// What a real containerd reports about its containers: as hints, and in the payloads of its own event service.
import { Client, type ClientReadableStream, Metadata, credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as events from '@kubus/proto/containerd-events';
import { type ContainerHint, type CriClient, type EventsState, connectCri } from '../src/index.ts';
import { type TestContainerd, startContainerd } from './containerd.ts';
import { connected, containerConfig, createContainer, podConfig, runSandbox } from './pods.ts';
import { ports } from './ports.ts';
import { until } from './until.ts';

let runtime: TestContainerd;
let client: CriClient;
/** Whether CRI's own events are used: from containerd 2 on. */
let criEvents: boolean;

beforeAll(async () => {
  runtime = await startContainerd();
  client = await connected(connectCri({ socket: runtime.socket, ...ports }));
  const { runtimeVersion = '' } = await client.call('Version', {});
  criEvents = !runtimeVersion.startsWith('1.');
});
afterAll(async () => {
  client.close();
  await runtime.stop();
});

/**
 * The kernel OOM-kills a child; the container keeps running, so that its shim sees this, and exits with 5 when stopped. Once is not
 * enough: a shim watches for it only after the start, which on a busy machine is later than the first.
 */
const GREEDY = ['/bin/sh', '-c', 'trap "exit 5" TERM; while :; do tail /dev/zero; sleep 1; done'];
const GRACE_SECONDS = '100';

const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

interface Followed {
  readonly hints: ContainerHint[];
  readonly states: EventsState[];
  /** Waits until a hint of this kind has come for this container or sandbox. */
  hint(containerId: string, kind: ContainerHint['kind']): Promise<ContainerHint>;
  streaming(): Promise<void>;
  stop(): void;
}

function follow(): Followed {
  const hints: ContainerHint[] = [];
  const states: EventsState[] = [];
  const stop = client.containerEvents({ onHint: (hint) => hints.push(hint), onState: (state) => states.push(state) });
  stops.push(stop);
  return {
    hints,
    states,
    hint: (id, kind) =>
      until(`the hint that ${id} ${kind}`, () => hints.find((hint) => hint.containerId === id && hint.kind === kind)),
    streaming: async () => {
      await until('the stream of events', () => states.at(-1)?.state === 'streaming');
    },
    stop,
  };
}

describe('container events', () => {
  it('come from CRI if its events are reliable, otherwise from containerd', async () => {
    const followed = follow();
    await followed.streaming();
    expect(followed.states.at(-1)).toEqual({ state: 'streaming', source: criEvents ? 'cri' : 'containerd' });
  });

  it('report each step of a sandbox and a container, but no commands run in it', async () => {
    const followed = follow();
    await followed.streaming();
    const began = new Date().toISOString();
    const config = podConfig(runtime, 'steps');
    const sandbox = await runSandbox(client, config);
    await followed.hint(sandbox, 'started');
    const container = await createContainer(client, sandbox, config, containerConfig('main', ['sleep', '1000']));
    await client.call('StartContainer', { containerId: container });
    await followed.hint(container, 'started');
    await client.call('ExecSync', { containerId: container, cmd: ['true'] });
    await client.call('StopContainer', { containerId: container, timeout: '0' });
    await followed.hint(container, 'stopped');
    await client.call('StopPodSandbox', { podSandboxId: sandbox });
    await followed.hint(sandbox, 'stopped');
    await client.call('RemovePodSandbox', { podSandboxId: sandbox });
    await followed.hint(sandbox, 'deleted');

    const kindsOf = (id: string) =>
      followed.hints.filter(({ containerId }) => containerId === id).map(({ kind }) => kind);
    expect(kindsOf(container)).toEqual(['created', 'started', 'stopped', 'deleted']);
    expect(kindsOf(sandbox)).toEqual(['created', 'started', 'stopped', 'deleted']);
    const podUid = criEvents ? config.metadata?.uid : undefined;
    for (const hint of followed.hints) {
      expect(hint.podUid).toBe(podUid);
      expect(hint.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
      expect(hint.at > began && hint.at < new Date().toISOString()).toBe(true);
    }
  });

  it('report an out-of-memory container, from containerd', async () => {
    const followed = follow();
    await followed.streaming();
    const config = podConfig(runtime, 'memory');
    const sandbox = await runSandbox(client, config);
    const linux = { resources: { memoryLimitInBytes: String(16 * 1024 * 1024) } };
    const greedy = containerConfig('main', GREEDY, { linux });
    const container = await createContainer(client, sandbox, config, greedy);
    await client.call('StartContainer', { containerId: container });
    if (!criEvents) {
      expect(await followed.hint(container, 'oom')).toMatchObject({ kind: 'oom' });
    }
    await client.call('StopContainer', { containerId: container, timeout: GRACE_SECONDS });
    await followed.hint(container, 'stopped');
    expect((await client.call('ContainerStatus', { containerId: container })).status?.exitCode).toBe(5);
  });

  it('continue after an outage of the runtime, and report the gap', async () => {
    const followed = follow();
    await followed.streaming();
    await runtime.restart();
    await until('the loss', () => followed.states.some(({ state }) => state === 'lost'));
    await followed.streaming();
    await connected(client);
    const sandbox = await runSandbox(client, podConfig(runtime, 'again'));
    await followed.hint(sandbox, 'started');
  });

  it('end when they are cancelled', async () => {
    const [ending, staying] = [follow(), follow()];
    await Promise.all([ending.streaming(), staying.streaming()]);
    ending.stop();
    const sandbox = await runSandbox(client, podConfig(runtime, 'ended'));
    await staying.hint(sandbox, 'started');
    expect(ending.hints).toEqual([]);
    expect(ending.states.map(({ state }) => state)).toEqual(['streaming']);
  });
});

describe('the fields of containerd events', () => {
  /** Payloads by the end of their type, decoded. */
  const decoders = {
    ContainerCreate: events.ContainerCreate,
    ContainerDelete: events.ContainerDelete,
    TaskCreate: events.TaskCreate,
    TaskStart: events.TaskStart,
    TaskExit: events.TaskExit,
    TaskDelete: events.TaskDelete,
    TaskOOM: events.TaskOOM,
  };
  type Payloads = { [T in keyof typeof decoders]?: ReturnType<(typeof decoders)[T]['decode']> };

  it('match what CRI reports about the same container', async () => {
    const raw = new Client(`unix:${runtime.socket}`, credentials.createInsecure());
    stops.push(() => raw.close());
    const { path, requestSerialize, responseDeserialize } = events.EventsService.subscribe;
    const request = { filters: ['namespace==k8s.io'] };
    const stream: ClientReadableStream<events.Envelope> = raw.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      new Metadata(),
    );
    stream.on('error', () => undefined);
    stops.push(() => stream.cancel());
    const envelopes: events.Envelope[] = [];
    stream.on('data', (envelope: events.Envelope) => envelopes.push(envelope));

    const config = podConfig(runtime, 'fields');
    const sandbox = await runSandbox(client, config);
    const linux = { resources: { memoryLimitInBytes: String(16 * 1024 * 1024) } };
    const greedy = containerConfig('main', GREEDY, { linux });
    const container = await createContainer(client, sandbox, config, greedy);
    await client.call('StartContainer', { containerId: container });

    const mine = () => {
      const payloads: Payloads = {};
      for (const { event, topic, namespace } of envelopes) {
        const type = event?.typeUrl.slice(event.typeUrl.lastIndexOf('.') + 1) as keyof typeof decoders;
        if (event !== undefined && type in decoders) {
          const payload = decoders[type].decode(event.value);
          const id = 'containerId' in payload ? payload.containerId : payload.id;
          if (id === container) {
            expect([namespace, event.typeUrl]).toEqual(['k8s.io', `containerd.events.${type}`]);
            expect(topic).toMatch(/^\/(tasks|containers)\/[a-z]+$/);
            Object.assign(payloads, { [type]: payload });
          }
        }
      }
      return payloads;
    };
    await until('the out-of-memory event', () => mine().TaskOOM !== undefined);
    await client.call('StopContainer', { containerId: container, timeout: GRACE_SECONDS });
    const { status } = await client.call('ContainerStatus', { containerId: container });
    await client.call('RemoveContainer', { containerId: container });
    const payloads = await until('the last event', () => {
      const found = mine();
      return found.ContainerDelete !== undefined && found;
    });
    const pid = payloads.TaskCreate?.pid;
    expect(pid).toBeGreaterThan(0);
    const exited = { pid, exitStatus: 5, exitedAt: expect.any(Object) as unknown };
    expect(payloads).toEqual({
      ContainerCreate: { id: container },
      TaskCreate: { containerId: container, pid },
      TaskStart: { containerId: container, pid },
      TaskOOM: { containerId: container },
      TaskExit: { containerId: container, id: container, ...exited },
      TaskDelete: { containerId: container, ...exited },
      ContainerDelete: { id: container },
    });
    const nanoseconds = (time: events.Timestamp | undefined) =>
      String(BigInt(time?.seconds ?? 0) * 1_000_000_000n + BigInt(time?.nanos ?? 0));
    expect(nanoseconds(payloads.TaskExit?.exitedAt)).toBe(status?.finishedAt);
  });
});
