import type { Bus, FactOwner } from '@kubus/bus';
import { launcherNodeEvent, stuckService } from '@kubus/contracts';
import type { Clock, Logger } from '@kubus/ports';
import { EventRecorder, type NodeEvents } from '@kubus/service-kit';
import { LivenessWatch, type LivenessWatchOptions, type WatchedProcess } from './liveness-watch.ts';

/** Grace period of a process that is stuck, in milliseconds: it may still be able to end by itself. */
const GRACE_MS = 2_000;

export interface StuckServicesOptions extends Pick<LivenessWatchOptions, 'everyMs' | 'soonMs' | 'answerMs'> {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The names of the running processes of services. */
  readonly running: () => readonly { readonly what: string; readonly pid: number }[];
  /** The instances that a process runs. */
  readonly instancesIn: (what: string) => readonly string[];
  /** Processes that are kept from answering on purpose. */
  readonly isPaused: (what: string) => boolean;
  /** Ends a process after a grace period in milliseconds; it is then started again. */
  readonly restart: (what: string, graceMs: number) => Promise<boolean>;
}

/** Ends services that no longer answer, and says so: counted in a fact, with an event of the node. */
export class StuckServices {
  readonly #options: StuckServicesOptions;
  readonly #watch: LivenessWatch;
  readonly #facts: FactOwner<{ count: number; at: string; reason: string }>;
  readonly #events: NodeEvents;
  readonly #counts = new Map<string, number>();

  constructor(options: StuckServicesOptions) {
    const { bus, clock, everyMs, soonMs, answerMs } = options;
    this.#options = options;
    this.#facts = bus.owner(stuckService);
    this.#facts.complete();
    this.#events = new EventRecorder({ bus, clock }).ofNode(launcherNodeEvent);
    this.#watch = new LivenessWatch({
      ...(everyMs !== undefined && { everyMs }),
      ...(soonMs !== undefined && { soonMs }),
      ...(answerMs !== undefined && { answerMs }),
      processes: () => this.#announced(),
      stuck: (process, reason) => void this.#stuck(process, reason),
    });
    this.#watch.start();
  }

  stop(): void {
    this.#watch.stop();
  }

  /** A process is watched when all of its instances have announced themselves: before, it may be waiting for others. */
  #announced(): WatchedProcess[] {
    const { bus, running, instancesIn, isPaused } = this.#options;
    const peers = new Map([...bus.peers].map((peer) => [peer.instance, peer]));
    return running().flatMap(({ what, pid }) => {
      const instances = instancesIn(what).map((instance) => peers.get(instance));
      const http = instances.flatMap((one) => (one?.pid === pid && one.http !== undefined ? [one.http] : []));
      return http.length < instances.length ? [] : [{ what, pid, http, isPaused: isPaused(what) }];
    });
  }

  async #stuck({ what, pid }: WatchedProcess, reason: string): Promise<void> {
    const { clock, logger, instancesIn, restart } = this.#options;
    // One that has ended by itself is not stuck: it is being started again.
    if (!(await restart(what, GRACE_MS))) return;
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    logger.error({ process: what, pid, reason, count }, 'a service is stuck; ending it');
    const at = new Date(clock.now()).toISOString();
    for (const instance of instancesIn(what)) this.#facts.put(instance, { count, at, reason });
    this.#events.record(
      { type: 'Warning', reason: 'ServiceStuck', message: `${what} is ended and started again: ${reason}` },
      [],
    );
  }
}
