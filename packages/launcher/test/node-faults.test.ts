import { expect, test } from '@jest/globals';
import { Bus } from '@kubus/bus';
import { connectNats, defaultRecordLimits, ensureStreams, fromNats } from '@kubus/bus-nats';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import {
  type FaultRule,
  NO_KEY,
  type ServiceContract,
  type ServiceName,
  clearFault,
  faultContracts,
  faultRule,
  injectFault,
  runtimeCondition,
  runtimeHint,
  serviceContracts,
} from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { joinBus, systemClock } from '@kubus/service-kit';
import { joinFaultyBus } from '@kubus/service-kit/join-faulty-bus';
import type { NatsConnection } from '@nats-io/nats-core';
import { NodeFaults } from '../src/node-faults.ts';
import { afterTest } from './support.ts';

const NODE = 'n';
const services = ['launcher', 'cri-bridge', 'sync-loop', 'cli'] as const;

/** A broker with a launcher that injects faults, two services that they are done to, and somebody who types. */
class Faulty {
  readonly #server = new TestNatsServer();
  readonly said: { type: string; payload: Record<string, unknown> }[] = [];
  #listeners: (() => void)[] = [];

  static async start(): Promise<Faulty> {
    const faulty = new Faulty();
    const identities = services.map((service) => ({ service, instance: `${service}-0` }));
    await faulty.#server.start(NODE, faultContracts, identities);
    afterTest(() => faulty.#server.stop());
    await ensureStreams(await faulty.connection('launcher'), NODE, defaultRecordLimits);
    const people = await faulty.connection('cli');
    people.subscribe(`kubus.${NODE}.>`, {
      callback: (_error, wire) => {
        const { headers, data } = fromNats(wire);
        const payload = data === '' ? {} : (JSON.parse(data) as Record<string, unknown>);
        faulty.said.push({ type: headers['Kubus-Type'] ?? '', payload });
        for (const listen of faulty.#listeners) listen();
      },
    });
    await people.flush();
    return faulty;
  }

  async connection(service: ServiceName): Promise<NatsConnection> {
    const seed = this.#server.identities.get(`${service}-0`)?.seed ?? '';
    const made = await connectNats({ servers: this.#server.url, instance: `${service}-0`, seed });
    afterTest(() => made.close());
    return made;
  }

  /** A life of the launcher; how it ends is the caller's. */
  async launcher(epoch = 1): Promise<NodeFaults> {
    const connection = await this.connection('launcher');
    const bus = joinBus(await this.#joining('launcher', epoch, connection)).bus;
    return new NodeFaults({
      bus,
      clock: systemClock,
      logger: silentLogger,
      named: () => [],
      signal: () => Promise.resolve(undefined),
      pid: () => undefined,
      flush: () => connection.flush(),
    });
  }

  /** A service as on a node with faults. */
  async service(name: 'cri-bridge' | 'sync-loop'): Promise<Bus> {
    return new Bus(joinFaultyBus(await this.#joining(name)).ports);
  }

  async people(contracts: Readonly<Record<ServiceName, ServiceContract>> = faultContracts): Promise<Bus> {
    return joinBus({ ...(await this.#joining('cli')), contracts }).bus;
  }

  /** Waits until what has been said is as wanted. */
  async until(isWanted: () => boolean): Promise<void> {
    while (!isWanted()) await new Promise<void>((resolve) => this.#listeners.push(resolve));
  }

  ofType(type: string): Record<string, unknown>[] {
    return this.said.filter((one) => one.type === type).map(({ payload }) => payload);
  }

  async #joining(service: ServiceName, epoch = 1, connection?: NatsConnection) {
    const identity = `${service}-0`;
    const joining = { node: NODE, service, identity, epoch, logger: silentLogger, contracts: faultContracts };
    return { ...joining, connection: connection ?? (await this.connection(service)) };
  }
}

const inject = async (people: Bus, rule: FaultRule) => (await people.call(injectFault, rule.id, rule)).result.fault;

/** Rules as the service has heard of them. */
async function following(faulty: Faulty, ids: readonly string[], people: Bus): Promise<void> {
  const reader = people.reader(faultRule);
  await reader.whenPresent();
  await faulty.until(() => [...reader].map(({ key }) => key).join() === ids.join());
}

function hint(bridge: Bus, containerId: string): void {
  bridge.emit(runtimeHint, 'pod-1', { containerId, kind: 'exit', at: '2026-01-01T00:00:00Z' });
}

/** Says hints until one is heard: from when on a rule holds in another process nobody is told. */
async function untilHeard(faulty: Faulty, bridge: Bus): Promise<void> {
  const before = faulty.ofType('runtime.event.hint/1').length;
  const timer = setInterval(() => hint(bridge, 'again'), 20);
  await faulty.until(() => faulty.ofType('runtime.event.hint/1').length > before).finally(() => clearInterval(timer));
}

/** Says hints until one is lost. */
async function untilLost(faulty: Faulty, bridge: Bus): Promise<void> {
  const before = faulty.ofType('fault.event.faulted/1').length;
  const timer = setInterval(() => hint(bridge, 'again'), 20);
  await faulty.until(() => faulty.ofType('fault.event.faulted/1').length > before).finally(() => clearInterval(timer));
}

const LIMIT_MS = 120_000;
const dropHints: FaultRule = { id: 'no-hints', match: { subject: 'runtime.event.hint.*' }, what: { kind: 'drop' } };

test(
  'a rule is done by the service that it is about, told of, listed, and over when it is cleared',
  async () => {
    const faulty = await Faulty.start();
    await faulty.launcher();
    const bridge = await faulty.service('cri-bridge');
    const people = await faulty.people();
    await untilHeard(faulty, bridge);
    await inject(people, dropHints);
    await untilLost(faulty, bridge);
    expect(faulty.ofType('fault.event.faulted/1')[0]).toMatchObject({
      rule: 'no-hints',
      what: 'drop',
      side: 'sender',
      subject: 'runtime.event.hint.pod-1',
      message: expect.stringMatching(/^cri-bridge-0\.1\.\d+$/) as unknown,
    });
    await following(faulty, ['no-hints'], people);
    await expect(inject(people, dropHints)).rejects.toThrow('there is a fault "no-hints" already: clear it first');
    expect((await people.call(clearFault, 'other', {})).result).toEqual({ cleared: [] });
    expect((await people.call(clearFault, NO_KEY, {})).result).toEqual({ cleared: ['no-hints'] });
    await untilHeard(faulty, bridge);
  },
  LIMIT_MS,
);

test(
  'a rule with a reader holds back what that one hears, and nobody else',
  async () => {
    const faulty = await Faulty.start();
    await faulty.launcher();
    const bridge = await faulty.service('cri-bridge');
    const loop = await faulty.service('sync-loop');
    const people = await faulty.people();
    const conditions = bridge.owner(runtimeCondition);
    const heard: { name: string | undefined; at: number }[] = [];
    const last = Promise.withResolvers<undefined>();
    const late = loop.reader(runtimeCondition, {
      changed: ({ value }) => {
        heard.push({ name: value.name, at: performance.now() });
        if (value.name === 'last') last.resolve(undefined);
      },
    });
    await late.whenPresent();
    await inject(people, {
      id: 'slow',
      match: { subject: 'runtime.fact.condition.*', reader: 'sync-loop' },
      what: { kind: 'delay', ms: 400 },
    });
    const faults = () => faulty.ofType('fault.event.faulted/1');
    const put = (name: string) =>
      conditions.put('runtime', { ready: true, network: 'runtime', networkReady: true, events: 'none', name });
    // Until the service follows the rule.
    for (let round = 0; faults().length === 0; round++) {
      put(`before ${round}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const others = new Promise<void>((resolve) => {
      people.reader(runtimeCondition, { changed: ({ value }) => value.name === 'last' && resolve() });
    });
    const began = performance.now();
    put('last');
    await others;
    await last.promise;
    // Timers of a machine fire up to a millisecond early.
    expect((heard.at(-1)?.at ?? 0) - began).toBeGreaterThan(398);
    const delay = { rule: 'slow', what: 'delay', side: 'reader', ms: 400 };
    expect(faults()).toEqual(faults().map(() => expect.objectContaining(delay) as unknown));
    // In the order in which they were said, the last one last.
    const names = heard.map(({ name }) => name ?? '');
    expect(names).toEqual([...new Set(names)]);
  },
  LIMIT_MS,
);

test(
  'a rule is over when its time is, when the launcher ends, and when a killed one has a new life',
  async () => {
    const faulty = await Faulty.start();
    const first = await faulty.launcher(1);
    const bridge = await faulty.service('cri-bridge');
    const people = await faulty.people();
    const { ends, since } = await inject(people, { ...dropHints, when: { forMs: 300 } });
    expect((ends ?? 0) - since).toBe(300);
    await untilHeard(faulty, bridge);

    await inject(people, dropHints);
    await untilLost(faulty, bridge);
    await first.end();
    await untilHeard(faulty, bridge);

    await inject(people, dropHints);
    await untilLost(faulty, bridge);
    // The first life says no more; its rule is void as soon as the second one has said what there is: nothing.
    await faulty.launcher(2);
    await untilHeard(faulty, bridge);
  },
  LIMIT_MS,
);

test('people of a node without faults can not even ask', async () => {
  const faulty = await Faulty.start();
  const people = await faulty.people(serviceContracts);
  expect(() => people.call(injectFault, dropHints.id, dropHints)).toThrow(/which its contract does not list/);
});
