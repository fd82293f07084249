import { readFileSync } from 'node:fs';
import type { TestNode, WatchedPod } from '@kubus/harness';

/** What a person sees of a pod that the node has ended for its own sake. */
export interface SeenEviction {
  readonly phase?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly conditions: readonly object[];
  readonly containers: readonly {
    readonly name: string;
    readonly exitCode?: number | undefined;
    readonly reason?: string | undefined;
  }[];
  readonly events: readonly object[];
}

/** What the reference kubelet made of a pod in the same place, recorded once; see `data/evictions.json`. */
export function goldenEviction(
  name: 'size-limit' | 'container-limit' | 'memory' | 'exits-with-0' | 'refused' | 'preemption',
): SeenEviction {
  const text = readFileSync(new URL('../data/evictions.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as Record<typeof name, SeenEviction>)[name];
}

/** A scenario of `data/pressure.json`, recorded once from the reference kubelet. */
export interface GoldenPressure {
  /** The pods that went, the first one first. */
  readonly order: readonly string[];
  /** The messages of the events EvictionThresholdMet, each once. */
  readonly attempts: readonly string[];
  readonly pods: Readonly<Record<string, SeenEviction>>;
}

export function goldenPressure(
  name: 'soft-memory' | 'hard-memory' | 'disk' | 'inodes' | 'pids' | 'limits',
): GoldenPressure {
  const text = readFileSync(new URL('../data/pressure.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as Record<typeof name, GoldenPressure>)[name];
}

/** The same of a pod here, in the same order and with the figures of this machine replaced. */
export function seenEviction(node: TestNode, { ref, status }: WatchedPod): SeenEviction {
  const { phase, reason, message, conditions = [], containerStatuses = [] } = status ?? {};
  return {
    ...{ phase, reason, message: message && withoutFigures(message) },
    conditions: conditions
      .map((one) => pick(one, ['type', 'status', 'reason', 'message']))
      .toSorted((a, b) => compare(a['type'], b['type'])),
    containers: containerStatuses.map(({ name, state }) => ({
      ...{ name, exitCode: state?.terminated?.exitCode, reason: state?.terminated?.reason },
    })),
    events: node.watch.messages
      .podEvents(ref.uid)
      .filter(({ reason: why }) => ['Evicted', 'Preempting', 'Killing'].includes(why))
      .toSorted((a, b) => compare(`${a.reason} ${a.message}`, `${b.reason} ${b.message}`))
      .map((event) => ({
        ...pick(event, ['type', 'reason', 'message']),
        ...(event.annotations && { annotations: ofFigures(event.annotations) }),
      })),
  };
}

function pick(from: object, fields: readonly string[]): Record<string, string> {
  const all = from as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = all[field];
      return typeof value === 'string' && value !== '' ? [[field, withoutFigures(value)]] : [];
    }),
  );
}

function withoutFigures(text: string): string {
  return text.replaceAll(/(quantity: |available: |using )\d+(\.\d+)?[KMGT]?i?\b/g, '$1N');
}

function ofFigures(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [
      key,
      key.endsWith('usage') ? value.replaceAll(/\d+(Ki|Mi)?/g, 'N') : value,
    ]),
  );
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
