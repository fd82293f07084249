import type { DirectDelivery } from '@kubus/bus';
import { type ServiceName, serviceNames } from '@kubus/contracts';
import * as z from 'zod';

/** What the parent of a process with several services asks of it, and its answer when that is so. */
export const elsewhereSchema = z.strictObject({ elsewhere: z.array(z.enum(serviceNames)) });

/** Services that share this process. Each can move out, so that another process runs it, and back; the others go on. */
export class ServiceGroup {
  readonly #services: readonly ServiceName[];
  readonly #direct: Pick<DirectDelivery, 'setElsewhere'> | undefined;
  readonly #start: (service: ServiceName) => Promise<{ stop(): Promise<void> }>;
  readonly #running = new Map<ServiceName, { stop(): Promise<void> }>();
  #turn: Promise<void> = Promise.resolve();
  #stopping = false;

  constructor(options: {
    services: readonly ServiceName[];
    direct: Pick<DirectDelivery, 'setElsewhere'> | undefined;
    start: (service: ServiceName) => Promise<{ stop(): Promise<void> }>;
  }) {
    this.#services = options.services;
    this.#direct = options.direct;
    this.#start = options.start;
  }

  /**
   * Runs all services but these; one change at a time. Resolves when those have ended, so that their slots are free, and the others run.
   * Rejects with the error of a service that cannot be started.
   */
  setElsewhere(elsewhere: readonly ServiceName[]): Promise<void> {
    const changed = this.#turn.then(() => this.#change(elsewhere));
    this.#turn = changed.catch(() => undefined);
    return changed;
  }

  /** Ends all services. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#running.values()].map((service) => service.stop()));
  }

  async #change(elsewhere: readonly ServiceName[]): Promise<void> {
    await Promise.all(
      this.#services.map(async (service) => {
        if (this.#stopping) return;
        const running = this.#running.get(service);
        if (elsewhere.includes(service)) {
          this.#running.delete(service);
          await running?.stop();
          this.#direct?.setElsewhere(service, true);
        } else if (running === undefined) {
          this.#direct?.setElsewhere(service, false);
          const started = await this.#start(service);
          this.#running.set(service, started);
          // It was started while the process began to end.
          if (this.#isStopping()) await started.stop();
        }
      }),
    );
  }

  /** A function, since the value may change during an await. */
  #isStopping(): boolean {
    return this.#stopping;
  }
}

/**
 * Follows what the parent process asks for over its channel, and answers with the same when it is done. Without a channel, nothing is asked;
 * the channel keeps no process alive, and its end means nothing: the parent has ended.
 *
 * @param failed called with the error of a service that could not be moved
 */
export function followElsewhere(
  process: Pick<NodeJS.Process, 'on' | 'send' | 'channel' | 'connected'>,
  group: Pick<ServiceGroup, 'setElsewhere'>,
  failed: (error: unknown) => Promise<unknown>,
): void {
  const { channel } = process;
  if (channel === undefined) return;
  process.on('message', (message: unknown) => {
    const asked = elsewhereSchema.safeParse(message);
    if (!asked.success) return;
    group.setElsewhere(asked.data.elsewhere).then(
      () => {
        if (process.connected) process.send?.(asked.data, undefined, undefined, () => undefined);
      },
      (error: unknown) => void failed(error),
    );
  });
  channel.unref();
}
