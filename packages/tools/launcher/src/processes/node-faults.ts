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
import { LauncherError } from '../errors.ts';
import { type Pause, pauseProcess } from './pause.ts';

/** How long a published rule is valid, and how often it is renewed, in milliseconds. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;

/** How long the end waits for the removal of all rules to be sent, in milliseconds. */
const FLUSH_MS = 500;

/** What {@link NodeFaults} needs. */
export interface NodeFaultsOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The processes of a service or an instance. */
  readonly named: (key: string) => string[];
  /** Sends a signal to a process. Returns its pid; undefined when it is not running. */
  readonly signal: (what: string, signal: NodeJS.Signals) => Promise<number | undefined>;
  readonly pid: (what: string) => number | undefined;
  /** Resolves when all published messages have been sent. */
  readonly flush: () => Promise<void>;
}

interface ActiveRule {
  readonly rule: FaultRule;
  readonly since: number;
  readonly ends: number | undefined;
  readonly end: Cancel;
}

/**
 * Fault injection on a node started with `--faults`: rules for messages, which every service follows, and pausing, killing and restarting
 * of processes. All faults end with this object or its process: a rule is a lease that has to be renewed.
 */
export class NodeFaults {
  readonly #options: NodeFaultsOptions;
  readonly #facts: FactOwner<ActiveFault>;
  readonly #active = new Map<string, ActiveRule>();
  readonly #pauses = new Map<string, { pause: Pause; pid: number; end: Cancel }>();
  #renewal: Cancel | undefined;

  constructor(options: NodeFaultsOptions) {
    this.#options = options;
    const { bus } = options;
    this.#facts = bus.owner(faultRule);
    bus.serve(injectFault, ({ key, request }) => {
      if (key !== request.id) {
        throw new LauncherError('BadFault', `the command's key "${key}" is not the rule's id "${request.id}"`);
      }
      return Promise.resolve({ fault: this.#inject(request) });
    });
    bus.serve(clearFault, async ({ key }) => ({
      cleared: key === NO_KEY ? await this.#clearAll() : this.#clearOne(key),
    }));
    bus.serve(disturbService, async ({ key, request }) => ({ instances: await this.#disturb(key, request) }));
    // The completion mark ends the rules of an earlier epoch.
    this.#facts.complete();
  }

  /** Whether a fault keeps this process from doing anything. */
  isPaused(what: string): boolean {
    return this.#pauses.has(what);
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
    if (this.#active.has(rule.id)) {
      throw new LauncherError('FaultExists', `fault "${rule.id}" already exists: clear it first`);
    }
    const since = clock.now();
    const forMs = rule.when?.forMs;
    const ends = forMs === undefined ? undefined : since + forMs;
    const end = forMs === undefined ? () => undefined : clock.after(forMs, () => void this.#clearOne(rule.id));
    const standing = { rule, since, ends, end };
    this.#active.set(rule.id, standing);
    logger.warn({ rule }, 'fault rule injected');
    this.#renewal ??= clock.after(RENEW_MS, () => this.#renew());
    return this.#publish(standing);
  }

  #publish({ rule, since, ends }: ActiveRule): ActiveFault {
    const lease = this.#options.clock.now() + LEASE_MS;
    const fault = { rule, since, until: Math.min(lease, ends ?? lease), ...(ends !== undefined && { ends }) };
    this.#facts.put(rule.id, fault);
    return fault;
  }

  #renew(): void {
    this.#renewal = undefined;
    if (this.#active.size === 0) return;
    for (const standing of this.#active.values()) this.#publish(standing);
    this.#renewal = this.#options.clock.after(RENEW_MS, () => this.#renew());
  }

  #clearOne(id: string): string[] {
    const standing = this.#active.get(id);
    if (standing === undefined) return [];
    standing.end();
    this.#active.delete(id);
    this.#facts.remove(id);
    return [id];
  }

  async #clearAll(): Promise<string[]> {
    const cleared = [...this.#active.keys()].flatMap((id) => this.#clearOne(id));
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
