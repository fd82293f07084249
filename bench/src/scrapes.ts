import { askNode } from '@kubus/harness';
import type { NodeDir } from '@kubus/launcher';
import { setTimeout as wait } from 'node:timers/promises';
import { type PerProcess, cpuOf, difference, scaled } from './process-usage.ts';

/** The scraped paths. */
export const scraped = ['/metrics/resource', '/stats/summary', '/metrics/cadvisor', '/metrics'] as const;

/** The agent's CPU for one scrape of each path, in milliseconds. */
export type Scrapes = Readonly<Record<(typeof scraped)[number], PerProcess>>;

/** Scrapes of each path. CPU is counted in steps of 10 ms: the mean of several is closer. */
const ROUNDS = 8;

/** Scrapes of each path to warm up: V8 optimizes code that has run for a while, and the first scrape opens connections. */
const EARLY_ROUNDS = 5;

/** Time between scrapes of a path, in milliseconds: longer than the lifetime of cached values. */
const PAUSE_MS = 10_500;

/** Scrapes a node as Prometheus does, with compression. The idle CPU time of the node is part of the figures. */
export async function measureScrapes(dir: NodeDir, processes: ReadonlyMap<string, number>): Promise<Scrapes> {
  const sums = new Map<string, PerProcess>();
  for (let round = 0; round < EARLY_ROUNDS + ROUNDS; round += 1) {
    for (const path of scraped) {
      await wait(PAUSE_MS / scraped.length);
      const before = await cpuOf(processes);
      await askNode(dir, path, { headers: { 'accept-encoding': 'gzip' } });
      const used = difference(await cpuOf(processes), before);
      if (round >= EARLY_ROUNDS) sums.set(path, added(sums.get(path), used));
    }
  }
  return Object.fromEntries([...sums].map(([path, sum]) => [path, scaled(sum, 1 / ROUNDS)])) as Scrapes;
}

function added(sum: PerProcess = {}, more: PerProcess): PerProcess {
  return Object.fromEntries(Object.entries(more).map(([name, value]) => [name, value + (sum[name] ?? 0)]));
}
