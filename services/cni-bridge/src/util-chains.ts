import { type Cancel, type Clock, type Logger, hasErrno, toError } from '@kubus/ports';

/** Milliseconds between checks of the chains (behaviour:node-object, iptables util). */
const EVERY_MS = 60_000;

/** A chain whose absence shows that a table was flushed. */
const CANARY = 'KUBE-KUBELET-CANARY';
/** A chain whose existence shows other components which packet filter the system uses. */
const HINT = { table: 'mangle', chain: 'KUBE-IPTABLES-HINT' };
const FIREWALL = 'KUBE-FIREWALL';

const CHAINS = [HINT, ...['mangle', 'nat', 'filter'].map((table) => ({ table, chain: CANARY }))];

interface Rule {
  readonly how: '-A' | '-I';
  readonly chain: string;
  readonly rule: readonly string[];
}

/**
 * Drops packets to loopback addresses that come from elsewhere, which the kernel accepts when kube-proxy has set
 * `route_localnet` (CVE-2020-8558). The rule is identical to that of kube-proxy and the reference, so that none of them
 * adds it twice.
 */
const RULES: readonly Rule[] = [
  {
    how: '-A',
    chain: FIREWALL,
    rule: [
      ...['-m', 'comment', '--comment', 'block incoming localnet connections'],
      ...['--dst', '127.0.0.0/8', '!', '--src', '127.0.0.0/8'],
      ...['-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT', '-j', 'DROP'],
    ],
  },
  { how: '-I', chain: 'OUTPUT', rule: ['-j', FIREWALL] },
  { how: '-I', chain: 'INPUT', rule: ['-j', FIREWALL] },
];

/** The two families of the packet filter; the firewall chain is for IPv4 alone. */
const FAMILIES = [
  { program: 'iptables', chains: [...CHAINS, { table: 'filter', chain: FIREWALL }], rules: RULES },
  { program: 'ip6tables', chains: CHAINS, rules: [] },
];
type Family = (typeof FAMILIES)[number];

/** Runs a program of the machine in the node's network namespace; rejects when it ends with an error. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<unknown>;

/**
 * The packet filter's chains that other components look for. They stay when the service ends, as with the reference,
 * and are created again after a flush.
 */
export class UtilChains {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #run: RunProgram;
  /** Families that the machine does not have. */
  readonly #missing = new Set<Family>();
  readonly #problems = new Map<Family, string>();
  #timer: Cancel | undefined;
  #stopped = false;

  constructor({ clock, logger, run }: { clock: Clock; logger: Logger; run: RunProgram }) {
    this.#clock = clock;
    this.#logger = logger;
    this.#run = run;
  }

  /** Creates what is missing, now and periodically. Resolves after the first time. */
  async start(): Promise<void> {
    for (const family of FAMILIES) if (!this.#missing.has(family)) await this.#look(family);
    if (!this.#stopped) this.#timer = this.#clock.after(EVERY_MS, () => void this.start());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  async #look(family: Family): Promise<void> {
    try {
      if (await this.#isWhole(family)) return;
      for (const { table, chain } of family.chains) {
        if (!(await this.#holds(family, table, '-S', chain))) await this.#do(family, table, '-N', chain);
      }
      for (const { how, chain, rule } of family.rules) {
        if (!(await this.#holds(family, 'filter', '-C', chain, ...rule))) {
          await this.#do(family, 'filter', how, chain, ...rule);
        }
      }
      this.#problems.delete(family);
      this.#logger.info({ program: family.program }, 'created the iptables utility chains');
    } catch (error) {
      this.#failed(family, error);
    }
  }

  /** A table whose rules were flushed without its chains still has the canary. */
  async #isWhole(family: Family): Promise<boolean> {
    if (!(await this.#holds(family, 'mangle', '-S', CANARY))) return false;
    for (const { chain, rule } of family.rules) {
      if (!(await this.#holds(family, 'filter', '-C', chain, ...rule))) return false;
    }
    return true;
  }

  async #holds(family: Family, table: string, ...args: readonly string[]): Promise<boolean> {
    try {
      await this.#do(family, table, ...args);
      return true;
    } catch (error) {
      if (hasErrno(error, 'ENOENT')) throw error;
      return false;
    }
  }

  /** Waits up to five seconds for the lock of the tables. */
  #do({ program }: Family, table: string, ...args: readonly string[]): Promise<unknown> {
    return this.#run(program, ['-w', '5', '-t', table, ...args]);
  }

  #failed(family: Family, error: unknown): void {
    const { program } = family;
    if (hasErrno(error, 'ENOENT')) {
      this.#missing.add(family);
      this.#logger.info({ program }, 'the system does not have this packet filter; its chains are not needed');
      return;
    }
    const { message } = toError(error);
    if (this.#problems.get(family) === message) return;
    this.#problems.set(family, message);
    this.#logger.warn({ program, err: message }, 'cannot create the iptables utility chains');
  }
}
