import { setTimeout as wait } from 'node:timers/promises';
import { type UsageReading, usageReading } from '@kubus/kube-objects';
import { bodyBegin } from '@kubus/service-kit';
import { type Kubelet, askKubelet } from './kubelet.ts';

/** A reading younger than this is used again, in milliseconds. */
const FRESH_MS = 5_000;
/** Over which time CPU is measured: no less, as nodes themselves read no more often, and no more, in milliseconds. */
const [LEAST_MS, MOST_MS] = [2_200, 60_000];
/** How many readings are kept of a node: with {@link FRESH_MS} between them, those of 15 s. */
const KEPT = 4;
/** What a node may answer, in bytes and milliseconds. */
const [ANSWER_BYTES, ANSWER_MS] = [8 * 1024 * 1024, 5_000];

/** Two readings of a node, from which rates are computed. */
export interface UsagePair {
  readonly before: UsageReading;
  readonly now: UsageReading;
}

interface Taken {
  readonly takenMs: number;
  readonly reading: UsageReading;
}

/**
 * Asks nodes what they and their pods use, when somebody wants to know: at rest nothing is asked. The first answer in a minute takes two
 * readings, and 2 s.
 */
export class NodeUsages {
  readonly #kubelet: (node: string) => Promise<Kubelet>;
  readonly #now: () => number;
  readonly #nodes = new Map<string, NodeUsage>();

  /** @param kubelet the server of a node. @param now milliseconds since the Unix epoch. */
  constructor(kubelet: (node: string) => Promise<Kubelet>, now: () => number) {
    this.#kubelet = kubelet;
    this.#now = now;
  }

  /** By node; those that do not answer are left out. */
  async of(names: readonly string[]): Promise<ReadonlyMap<string, UsagePair>> {
    const pairs = await Promise.all(names.map((name) => this.#pair(name)));
    return new Map(pairs.flatMap((pair, index) => (pair === undefined ? [] : [[names[index] ?? '', pair]])));
  }

  /** Forgets a node that does not answer, which may have been removed. */
  async #pair(name: string): Promise<UsagePair | undefined> {
    const node =
      this.#nodes.get(name) ?? new NodeUsage(async () => resourceMetrics(await this.#kubelet(name)), this.#now);
    this.#nodes.set(name, node);
    try {
      return await node.pair();
    } catch {
      this.#nodes.delete(name);
      return undefined;
    }
  }
}

class NodeUsage {
  readonly #ask: () => Promise<string>;
  readonly #now: () => number;
  /** The newest last. */
  #taken: readonly Taken[] = [];
  #taking: Promise<UsagePair> | undefined;

  constructor(ask: () => Promise<string>, now: () => number) {
    this.#ask = ask;
    this.#now = now;
  }

  /** Requests that come together get one answer. */
  async pair(): Promise<UsagePair> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  async #take(): Promise<UsagePair> {
    const newest = this.#taken.at(-1);
    const isFresh = newest !== undefined && this.#now() - newest.takenMs < FRESH_MS;
    if (!isFresh) await this.#read();
    return this.#known() ?? (await this.#second());
  }

  async #second(): Promise<UsagePair> {
    await wait(LEAST_MS, undefined, { ref: false });
    await this.#read();
    return this.#known() ?? { before: NOTHING, now: NOTHING };
  }

  #known(): UsagePair | undefined {
    const newest = this.#taken.at(-1);
    if (newest === undefined) return undefined;
    const before = this.#taken.find(({ takenMs }) => isWindow(newest.takenMs - takenMs));
    return before && { before: before.reading, now: newest.reading };
  }

  async #read(): Promise<void> {
    const takenMs = this.#now();
    const reading = usageReading(await this.#ask());
    this.#taken = [
      ...this.#taken.filter((one) => isWindow(takenMs - one.takenMs)).slice(1 - KEPT),
      { takenMs, reading },
    ];
  }
}

const NOTHING: UsageReading = { node: undefined, pods: new Map() };

const isWindow = (ms: number) => ms >= LEAST_MS && ms <= MOST_MS;

/** @throws an error when the node does not answer with metrics. */
async function resourceMetrics(kubelet: Kubelet): Promise<string> {
  const answer = await askKubelet('/metrics/resource', kubelet, AbortSignal.timeout(ANSWER_MS));
  const text = await bodyBegin(answer, ANSWER_BYTES + 1);
  if (text.length > ANSWER_BYTES) throw new Error(`the metrics of the node are larger than ${ANSWER_BYTES} bytes`);
  if (answer.statusCode !== 200) throw new Error(`the node answered ${answer.statusCode}`);
  return text.toString();
}
