import type { Bus, FactOwner } from '@kubus/bus';
import {
  type ActiveFault,
  type FaultRule,
  NO_KEY,
  type ServiceFault,
  clearFault,
  disturbService,
  faultRule,
  injectFault,
  serviceFaulted,
} from '@kubus/contracts';
import type { Cancel, Clock, Logger } from '@kubus/ports';
import { LauncherError } from './errors.ts';
import { type Pause, pauseProcess } from './pause.ts';

/** For how long a rule holds without another word of the launcher, and how often it gives one; in milliseconds. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;

/** How long the word that all rules have ended may take to be on its way. */
const FLUSH_MS = 500;

export interface NodeFaultsOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The processes of a service or of an instance. */
  readonly named: (key: string) => string[];
  /** Sends a signal to a process. Gives its pid; undefined when it does not run. */
  readonly signal: (what: string, signal: NodeJS.Signals) => Promise<number | undefined>;
  readonly pid: (what: string) => number | undefined;
  /** Resolves when all that was said is on its way. */
  readonly flush: () => Promise<void>;
}

interface Standing {
  readonly rule: FaultRule;
  readonly since: number;
  readonly ends: number | undefined;
  readonly end: Cancel;
}

/**
 * What is done on purpose to a node that was started with faults: the rules for its messages, which every service follows,
 * and pauses and ends of its processes. All of it is over when this ends, or its process does: a rule holds only as long as
 * it is told again and again.
 */
export class NodeFaults {
  readonly #options: NodeFaultsOptions;
  readonly #facts: FactOwner<ActiveFault>;
  readonly #standing = new Map<string, Standing>();
  readonly #pauses = new Map<string, { pause: Pause; pid: number; end: Cancel }>();
  #renewal: Cancel | undefined;

  constructor(options: NodeFaultsOptions) {
    this.#options = options;
    const { bus } = options;
    this.#facts = bus.owner(faultRule);
    bus.serve(injectFault, ({ key, request }) => {
      if (key !== request.id) {
        throw new LauncherError('BadFault', `the rule ${request.id} was sent under another name: ${key}`);
      }
      return Promise.resolve({ fault: this.#inject(request) });
    });
    bus.serve(clearFault, async ({ key }) => ({
      cleared: key === NO_KEY ? await this.#clearAll() : this.#clearOne(key),
    }));
    bus.serve(disturbService, async ({ key, request }) => ({ instances: await this.#disturb(key, request) }));
    // What an earlier life has left is over with this mark.
    this.#facts.complete();
  }

  /** Ends every fault. */
  async end(): Promise<void> {
    await this.#clearAll();
    const { clock, flush } = this.#options;
    const late = Promise.withResolvers<undefined>();
    const cancel = clock.after(FLUSH_MS, () => late.resolve(undefined));
    await Promise.race([flush().catch(() => undefined), late.promise]);
    cancel();
  }

  #inject(rule: FaultRule): ActiveFault {
    const { clock, logger } = this.#options;
    if (this.#standing.has(rule.id)) {
      throw new LauncherError('FaultExists', `there is a fault "${rule.id}" already: clear it first`);
    }
    const since = clock.now();
    const forMs = rule.when?.forMs;
    const ends = forMs === undefined ? undefined : since + forMs;
    const end = forMs === undefined ? () => undefined : clock.after(forMs, () => void this.#clearOne(rule.id));
    const standing = { rule, since, ends, end };
    this.#standing.set(rule.id, standing);
    logger.warn({ rule }, 'messages are disturbed on purpose');
    this.#renewal ??= clock.after(RENEW_MS, () => this.#renew());
    return this.#tell(standing);
  }

  #tell({ rule, since, ends }: Standing): ActiveFault {
    const lease = this.#options.clock.now() + LEASE_MS;
    const fault = { rule, since, until: Math.min(lease, ends ?? lease), ...(ends !== undefined && { ends }) };
    this.#facts.put(rule.id, fault);
    return fault;
  }

  #renew(): void {
    this.#renewal = undefined;
    if (this.#standing.size === 0) return;
    for (const standing of this.#standing.values()) this.#tell(standing);
    this.#renewal = this.#options.clock.after(RENEW_MS, () => this.#renew());
  }

  #clearOne(id: string): string[] {
    const standing = this.#standing.get(id);
    if (standing === undefined) return [];
    standing.end();
    this.#standing.delete(id);
    this.#facts.remove(id);
    return [id];
  }

  async #clearAll(): Promise<string[]> {
    const cleared = [...this.#standing.keys()].flatMap((id) => this.#clearOne(id));
    this.#renewal?.();
    this.#renewal = undefined;
    for (const what of [...this.#pauses.keys()]) await this.#continue(what);
    return cleared;
  }

  async #disturb(key: string, fault: ServiceFault): Promise<string[]> {
    const disturbed: string[] = [];
    for (const what of this.#options.named(key)) {
      if (await this.#disturbOne(what, fault)) disturbed.push(what);
    }
    return disturbed;
  }

  async #disturbOne(what: string, fault: ServiceFault): Promise<boolean> {
    if (fault.what === 'pause') return this.#pause(what, fault.forMs);
    const pid = await this.#options.signal(what, fault.what === 'kill' ? 'SIGKILL' : 'SIGTERM');
    if (pid !== undefined) this.#options.bus.emit(serviceFaulted, what, { what: fault.what, pid });
    return pid !== undefined;
  }

  async #pause(what: string, forMs: number): Promise<boolean> {
    const { bus, clock, pid: pidOf } = this.#options;
    await this.#continue(what);
    const pid = pidOf(what);
    if (pid === undefined) return false;
    const pause = await pauseProcess(pid);
    const end = clock.after(forMs, () => void this.#continue(what));
    this.#pauses.set(what, { pause, pid, end });
    bus.emit(serviceFaulted, what, { what: 'pause', pid, forMs });
    return true;
  }

  async #continue(what: string): Promise<void> {
    const paused = this.#pauses.get(what);
    if (paused === undefined) return;
    this.#pauses.delete(what);
    paused.end();
    await paused.pause.end();
    this.#options.bus.emit(serviceFaulted, what, { what: 'continue', pid: paused.pid });
  }
}
