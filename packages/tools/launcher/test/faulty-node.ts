import { Bus } from '@kubus/bus';
import { announceServer } from '@kubus/bus/testing';
import { fromNats } from '@kubus/bus-nats';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import { type ServiceContract, type ServiceName, faultContracts } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { joinBus, systemClock } from '@kubus/service-kit';
import { joinFaultyBus } from '@kubus/service-kit/join-faulty-bus';
import type { NatsConnection } from '@nats-io/nats-core';
import { NodeFaults } from '../src/processes/node-faults.ts';
import { afterTest } from './support.ts';

export const NODE = 'n';
const services = ['launcher', 'cri-bridge', 'sync-loop', 'observatory', 'cli'] as const;

/** A broker with a launcher that injects faults, two services that they are done to, an observatory, and somebody who types. */
export class Faulty {
  readonly #server = new TestNatsServer();
  readonly said: { type: string; payload: Record<string, unknown> }[] = [];
  #listeners: (() => void)[] = [];

  static async start(): Promise<Faulty> {
    const faulty = new Faulty();
    const identities = services.map((service) => ({ service, instance: `${service}-0` }));
    await faulty.#server.start(NODE, faultContracts, identities);
    afterTest(() => faulty.#server.stop());
    await faulty.#server.makeStreams();
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
    const made = await this.#server.connect(`${service}-0`);
    afterTest(() => made.close());
    return made;
  }

  /** A life of the launcher; how it ends is the caller's. */
  async launcher(epoch = 1): Promise<NodeFaults> {
    const connection = await this.connection('launcher');
    const bus = joinBus(await this.#joining('launcher', epoch, connection)).bus;
    const faults = new NodeFaults({
      bus,
      clock: systemClock,
      logger: silentLogger,
      named: () => [],
      signal: () => Promise.resolve(undefined),
      pid: () => undefined,
      flush: () => connection.flush(),
    });
    await announceServer(bus, 'launcher', systemClock);
    return faults;
  }

  /** A service as on a node with faults. */
  async service(name: 'cri-bridge' | 'sync-loop'): Promise<Bus> {
    return new Bus(joinFaultyBus(await this.#joining(name)).ports);
  }

  /** The bus of an observatory, and a connection of its own for the record. */
  async observatory(): Promise<{ bus: Bus; connection: NatsConnection }> {
    const { bus } = joinBus(await this.#joining('observatory'));
    return { bus, connection: await this.connection('observatory') };
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
