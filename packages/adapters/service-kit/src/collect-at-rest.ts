import { type Logger, toError } from '@kubus/ports';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { loadMallocTrim } from './malloc-trim.ts';

/** How often a process looks whether it is at rest, in milliseconds. */
const LOOK_MS = 5_000;
/** At rest it uses less than this share of a core. */
const REST = 0.05;
/** It has to be at rest at so many looks in a row, and since the last collection: what comes next should not wait for one. */
const LOOKS = 4;
/** It has to have worked so many times as long as the last collection took: then there is something to give back, and collections are a small part of what it does. */
const WORK = 5;
/** After so many looks there is one anyway: the last one may have been in the middle of work. */
const LONG = 36;

/** How a process has spent the time since the last look. */
export interface Look {
  /** CPU time, and the time itself, in milliseconds. */
  readonly cpuMs: number;
  readonly elapsedMs: number;
}

/** What the looks so far have shown. */
export interface RestState {
  /** Looks in a row at which the process was at rest, since the last collection. */
  readonly looks: number;
  /** CPU time since the last collection, in milliseconds. */
  readonly workMs: number;
  /** CPU time of the last collection, in milliseconds; 0 before the first one. */
  readonly costMs: number;
}

/** @returns what has been seen with this look, and whether a collection is due. */
export function afterLook({ looks, workMs, costMs }: RestState, { cpuMs, elapsedMs }: Look): [RestState, boolean] {
  const seen = { looks: cpuMs < REST * elapsedMs ? looks + 1 : 0, workMs: workMs + cpuMs, costMs };
  return [seen, seen.looks >= LONG || (seen.looks >= LOOKS && seen.workMs >= WORK * costMs)];
}

/**
 * Gives memory back when the process has been at rest for 20 seconds after work, and every three minutes: by itself V8 keeps the
 * pages that the last work has needed until that much has been allocated again, and so does malloc.
 *
 * @param mallocTrim the compiled native/malloc-trim.c; undefined: malloc keeps its free pages
 * @param logger is told when that cannot be loaded; the process goes on without it
 */
export function collectAtRest(mallocTrim: string | undefined, logger: Pick<Logger, 'warn'>): void {
  const collect = fullCollector();
  const trim = mallocTrim === undefined ? undefined : trimmer(mallocTrim, logger);
  let state: RestState = { looks: 0, workMs: 0, costMs: 0 };
  let [cpu, at] = [process.cpuUsage(), performance.now()];
  setInterval(() => {
    const [seen, due] = afterLook(state, { cpuMs: cpuMsSince(cpu), elapsedMs: performance.now() - at });
    [cpu, at, state] = [process.cpuUsage(), performance.now(), seen];
    if (!due) return;
    collect();
    trim?.();
    state = { looks: 0, workMs: 0, costMs: cpuMsSince(cpu) };
    [cpu, at] = [process.cpuUsage(), performance.now()];
  }, LOOK_MS).unref();
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function trimmer(mallocTrim: string, logger: Pick<Logger, 'warn'>): (() => void) | undefined {
  try {
    return loadMallocTrim(mallocTrim);
  } catch (error) {
    logger.warn({ err: toError(error) }, 'the process keeps the memory that malloc has free');
    return undefined;
  }
}

/**
 * The collection that V8 makes before it runs out of memory, 110 to 240 ms in a process with all services and 20 to 50 ms in one with one: the only one that gives the pages of
 * the heap back to the kernel. After others V8 keeps them for later. It also drops what V8's baseline compiler has made of functions that do not run just now, 5 MiB in a process
 * with all services, and more with each kind of work that it has done once: it is soon made again from the bytecode, which stays.
 */
export function fullCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  return () => {
    dropsBaselineCode.forEach(setFlagsFromString);
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    keepsBaselineCode.forEach(setFlagsFromString);
  };
}

/** V8 drops code that so many collections have found unused: with these flags baseline code after one, and bytecode never. */
const dropsBaselineCode = ['--flush-baseline-code', '--no-flush-bytecode', '--bytecode-old-age=1'];
/** V8's defaults: bytecode after six, and baseline code, with the bytecode that it was made from, never. */
const keepsBaselineCode = ['--no-flush-baseline-code', '--flush-bytecode', '--bytecode-old-age=6'];
