import { Bus, type BusOptions } from '@kubus/bus';
import { type Calls, type Core, type CorePorts, type RunningCore, callByName, callsThrough } from './core.ts';
import { type Outside, tapedOutside } from './outside.ts';
import { Recorder } from './recorder.ts';
import { tapedClock, tapedIds } from './taped-clock.ts';
import { TapedTransport } from './taped-transport.ts';

/** One run of an instance with a journal, from its first message on the bus on. */
export class JournalingInstance {
  readonly #recorder: Recorder;
  readonly #ports: CorePorts;

  private constructor(recorder: Recorder, ports: CorePorts) {
    this.#recorder = recorder;
    this.#ports = ports;
  }

  /**
   * Joins the bus.
   *
   * @param options the real ports of the instance
   * @param soon see {@link Recorder}
   */
  static async join(options: BusOptions, soon: (step: () => void) => void): Promise<JournalingInstance> {
    const { node, service, instance, epoch, transport, logger } = options;
    const recorder = new Recorder({ ...options, publisherId: { node, instance, epoch }, soon });
    const clock = tapedClock(recorder, options.clock);
    const ids = tapedIds(recorder, options.ids);
    const bus = await recorder.enter('bus', { node, service, instance, epoch }, () => {
      return new Bus({ ...options, transport: new TapedTransport(recorder, node, transport), clock, ids });
    });
    return new JournalingInstance(recorder, { bus, clock, ids, logger });
  }

  get bus(): Bus {
    return this.#ports.bus;
  }

  /** Starts the instance's core. */
  async run<Inputs, Ports extends Outside, Running, CoreCalls extends Calls<CoreCalls>>(
    core: Core<Inputs, Ports, Running, CoreCalls>,
    inputs: Inputs,
    outside: Ports,
  ): Promise<RunningCore<Running, CoreCalls>> {
    const taped = tapedOutside(this.#recorder, core.outside, outside);
    const running = await this.#recorder.enter('start', inputs, (given) => core.start(this.#ports, given, taped));
    const calls = core.calls(running);
    const make = (name: string, argument: unknown) =>
      this.#recorder.enter(name, argument, (given) => callByName(calls, name, given));
    return { running, calls: callsThrough(calls, make) };
  }

  /** As {@link Bus.announce}. */
  announce(self: Parameters<Bus['announce']>[0]): Promise<void> {
    return this.#recorder.enter('announce', self, (given) => this.bus.announce(given));
  }

  /** Publishes the rest of the journal. */
  end(): void {
    this.#recorder.flush();
  }
}
