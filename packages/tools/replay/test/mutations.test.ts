import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Bus, type FactOwner, HEADER, type WireMessage } from '@kubus/bus';
import { configSourcesCore } from '@kubus/config-sources';
import {
  type AnyDeclaration,
  type PodStatusReport,
  type PodUpdate,
  type PodWork,
  type ServiceName,
  criCommands,
  desiredPods,
  podEvent,
  podStatus,
  podWake,
  podWork,
  typeOf,
} from '@kubus/contracts';
import type { CorePorts } from '@kubus/journal';
import { podWorkersCore } from '@kubus/pod-workers';
import { syncLoopCore } from '@kubus/sync-loop';
import { type Cores, type StoredMessage, cores, replay, replayFile } from '../src/index.ts';
import { inFile, recordSchedule } from './recorded-schedule.ts';

/**
 * Seeds of schedules in which each of the mutations below has something to change, and no instance removes an old value of its own from the
 * store, which is no decision of its worker.
 */
const SEEDS = [3, 4, 5, 21];

/** One changed decision. */
interface Mutation {
  readonly service: ServiceName;
  /** Whether a message would change; `next` is the next one of its publisher. */
  readonly affects: (message: WireMessage, next: WireMessage | undefined) => boolean;
  readonly cores: Cores;
}

type Change = Partial<{
  put: (
    owner: FactOwner<unknown>,
    key: string,
    value: unknown,
    options: object,
  ) => ReturnType<FactOwner<unknown>['put']>;
  remove: (owner: FactOwner<unknown>, key: string, options: object) => void;
  complete: (owner: FactOwner<unknown>) => void;
}>;

const nobody = { id: 'nobody.1.1', traceId: '0'.repeat(32), spanId: '0'.repeat(16) };

/** `target` with some methods replaced. */
function altered<T extends object>(target: T, methods: object): T {
  return new Proxy(target, {
    get: (_, name) => {
      const own: unknown = Reflect.get(methods, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** A bus on which the owner of one fact publishes something else. */
function withOwner(bus: Bus, fact: AnyDeclaration, { put, remove, complete }: Change): Bus {
  return altered(bus, {
    owner: (declaration: Parameters<Bus['owner']>[0]) => {
      const owner = bus.owner(declaration);
      if ((declaration as AnyDeclaration) !== fact) return owner;
      return altered(owner, {
        ...(put && { put: (key: string, value: unknown, options: object) => put(owner, key, value, options) }),
        ...(remove && { remove: (key: string, options: object) => remove(owner, key, options) }),
        ...(complete && { complete: () => complete(owner) }),
      });
    },
  });
}

/** The cores, one of them with changed ports. */
function withPorts(
  service: 'sync-loop' | 'pod-workers' | 'config-sources',
  change: (ports: CorePorts) => CorePorts,
): Cores {
  const core = { 'sync-loop': syncLoopCore, 'pod-workers': podWorkersCore, 'config-sources': configSourcesCore }[
    service
  ];
  const mutated = {
    ...core,
    start: (ports: CorePorts, inputs: never, outside: never): Promise<unknown> =>
      core.start(change(ports), inputs, outside),
  };
  return { ...cores, [service]: mutated };
}

const changedFact = <T>(
  service: 'sync-loop' | 'pod-workers' | 'config-sources',
  fact: AnyDeclaration,
  change: (value: T) => T | undefined,
): Mutation => ({
  service,
  affects: (message) =>
    isOf(message, fact) && message.data !== '' && change(JSON.parse(message.data) as T) !== undefined,
  cores: withPorts(service, (ports) => ({
    ...ports,
    bus: withOwner(ports.bus, fact, {
      put: (owner, key, value, options) => owner.put(key, change(value as T) ?? value, options),
    }),
  })),
});

function isOf(message: WireMessage, declaration: AnyDeclaration): boolean {
  return message.headers[HEADER.type] === typeOf(declaration);
}

function isMarkOf({ headers }: WireMessage, fact: AnyDeclaration): boolean {
  return headers[HEADER.type] === typeOf(fact).replace('/', '.complete/');
}

const isRemoved = ({ headers }: WireMessage) => headers[HEADER.removed] !== undefined;

interface CreateRequest {
  params: { config: { metadata: { attempt: number } } };
}

const mutations: Record<string, Mutation> = {
  'another worker is chosen': changedFact<PodWork>('sync-loop', podWork, (work) => ({
    ...work,
    worker: 'pod-workers-9',
  })),
  'a pod to be killed is synced': changedFact<PodWork>('sync-loop', podWork, (work) =>
    work.work === 'kill' ? { ...work, work: 'sync' } : undefined,
  ),
  'the causes of work are not published': {
    service: 'sync-loop',
    affects: (message) => isOf(message, podWork) && !isRemoved(message) && message.headers[HEADER.causes] !== undefined,
    cores: withPorts('sync-loop', (ports) => ({
      ...ports,
      bus: withOwner(ports.bus, podWork, {
        put: (owner, key, value, options) => owner.put(key, value, { ...options, causes: [] }),
      }),
    })),
  },
  'the mark of the works follows that of the wakes': {
    service: 'sync-loop',
    affects: (message, next) => isMarkOf(message, podWork) && next !== undefined && isMarkOf(next, podWake),
    cores: withPorts('sync-loop', (ports) => {
      let later: (() => void) | undefined;
      const complete = (owner: FactOwner<unknown>) => {
        later = () => owner.complete();
      };
      const work = withOwner(ports.bus, podWork, { complete });
      const bus = withOwner(work, podWake, {
        complete: (owner) => {
          owner.complete();
          later?.();
        },
      });
      return { ...ports, bus };
    }),
  },
  'the status of a finished pod is not removed': {
    service: 'pod-workers',
    affects: (message) => isOf(message, podStatus) && isRemoved(message),
    cores: withPorts('pod-workers', (ports) => ({
      ...ports,
      bus: withOwner(ports.bus, podStatus, { remove: () => undefined }),
    })),
  },
  'a running pod is published as pending': changedFact<PodStatusReport>('pod-workers', podStatus, (report) =>
    report.status.phase === 'Running' ? { ...report, status: { ...report.status, phase: 'Pending' } } : undefined,
  ),
  'the next attempt is made': {
    service: 'pod-workers',
    affects: (message) => isOf(message, criCommands.CreateContainer),
    cores: withPorts('pod-workers', (ports) => ({
      ...ports,
      bus: altered(ports.bus, {
        call: (declaration: AnyDeclaration, key: string, request: unknown, options: object) => {
          const changed = structuredClone(request);
          if (declaration === criCommands.CreateContainer) {
            (changed as CreateRequest).params.config.metadata.attempt += 1;
          }
          return ports.bus.call(declaration as typeof criCommands.CreateContainer, key, changed as never, options);
        },
      }),
    })),
  },
  'pod users are not published': {
    service: 'pod-workers',
    affects: (message) => isOf(message, podEvent),
    cores: withPorts('pod-workers', (ports) => ({
      ...ports,
      bus: altered(ports.bus, {
        emit: (declaration: AnyDeclaration, key: string, payload: unknown, options: object) =>
          declaration === podEvent
            ? nobody
            : ports.bus.emit(declaration as typeof podEvent, key, payload as never, options),
      }),
    })),
  },
  'a new pod is published as a changed one': changedFact<PodUpdate>('config-sources', desiredPods.file, (update) =>
    update.operation === 'ADD' ? { ...update, operation: 'UPDATE' } : undefined,
  ),
  'a set of facts is never marked complete': {
    service: 'config-sources',
    affects: (message) => isMarkOf(message, desiredPods.file),
    cores: withPorts('config-sources', (ports) => ({
      ...ports,
      bus: withOwner(ports.bus, desiredPods.file, { complete: () => undefined }),
    })),
  },
};

let recorded: StoredMessage[][];
beforeAll(async () => {
  recorded = [];
  for (const seed of SEEDS) recorded.push(await recordSchedule(seed));
}, 120_000);

describe('a changed decision is detected at the first message that differs', () => {
  test.each(Object.entries(mutations))('%s', async (_name, { service, affects, cores: mutated }) => {
    let found = 0;
    for (const messages of recorded) {
      for (const { instance, epoch, difference } of await replay(messages, { service, cores: mutated })) {
        const first = firstOf(messages, `${instance}.${epoch}`, affects);
        expect([instance, epoch, difference?.expected?.id]).toEqual([instance, epoch, first]);
        if (first === undefined) expect(difference).toBeUndefined();
        else found += 1;
      }
    }
    expect(found).toBeGreaterThan(0);
  });
});

test('a changed delay is detected when the wait starts', async () => {
  const mutated = withPorts('pod-workers', (ports) => {
    const { clock } = ports;
    const longer = (ms: number) => (ms === 60_000 ? 2 * ms : ms);
    return { ...ports, clock: { now: () => clock.now(), after: (ms, action) => clock.after(longer(ms), action) } };
  });
  const [messages = []] = recorded;
  const differences = (await replay(messages, { service: 'pod-workers', cores: mutated })).map(
    ({ difference }) => difference?.what,
  );
  expect(differences).toContainEqual(expect.stringContaining('after 120000 where the recorded run after 60000'));
});

test('a replay of a file reports the same difference', async () => {
  const [{ service, cores: mutated } = { service: 'sync-loop', cores: {} }] = Object.values(mutations);
  const [messages = []] = recorded;
  const reports = await replay(messages, { service, cores: mutated });
  expect(reports.some(({ difference }) => difference !== undefined)).toBe(true);
  expect(await inFile(messages, (reader) => replayFile(reader, { service, cores: mutated }))).toEqual(reports);
});

/** The first message of a life, by its sequence number, that is affected. */
function firstOf(messages: readonly StoredMessage[], life: string, affects: Mutation['affects']): string | undefined {
  const ofLife = new Map<number, WireMessage>();
  for (const { message } of messages) {
    const { [HEADER.source]: source, [HEADER.epoch]: epoch, [HEADER.seq]: number } = message.headers;
    if (`${source ?? ''}.${epoch ?? ''}` === life) ofLife.set(Number(number), message);
  }
  const affected = [...ofLife].filter(([number, message]) => affects(message, ofLife.get(number + 1)));
  const first = Math.min(...affected.map(([number]) => number));
  return first === Infinity ? undefined : `${life}.${first}`;
}
