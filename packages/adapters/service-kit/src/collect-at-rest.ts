import { type Logger, toError } from '@kubus/ports';
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { loadMallocTrim } from './malloc-trim.ts';

/** How often a process looks whether it is at rest, in milliseconds. */
const LOOK_MS = 5_000;
/** At rest it uses less than this share of a core. */
const REST = 0.05;
/** It has to be at rest at so many looks in a row, and since the last collection: what comes next should not wait for one. */
const LOOKS = 4;
/** A process that has grown by this share of its own memory has to give back what is worth a pause. */
const WORTH = 1 / 48;
/** Bytes of a page of memory: what /proc/self/statm counts. */
const PAGE_BYTES = 4_096;

/** How a process has spent the time since the last look. */
export interface Look {
  /** CPU time, and the time itself, in milliseconds. */
  readonly cpuMs: number;
  readonly elapsedMs: number;
  /** Memory of the process's own, without the pages of files that others may have mapped too, in bytes. */
  readonly ownBytes: number;
}

/** What the looks so far have shown. */
export interface RestState {
  /** Looks in a row at which the process was at rest, since the last collection. */
  readonly looks: number;
  /** Memory after the last collection, in bytes; 0 before the first one. */
  readonly keptBytes: number;
}

/** @returns the looks at rest with this one, and whether a collection is due, with which they begin anew. */
export function afterLook({ looks, keptBytes }: RestState, look: Look): { looks: number; due: boolean } {
  if (look.cpuMs >= REST * look.elapsedMs) return { looks: 0, due: false };
  const due = looks + 1 >= LOOKS && look.ownBytes >= (1 + WORTH) * keptBytes;
  return { looks: due ? 0 : looks + 1, due };
}

/**
 * Gives memory back when the process has been at rest for 20 seconds and has grown by a forty-eighth since the last time, which may have been in the middle of work: by itself V8 keeps the
 * pages that the last work has needed until that much has been allocated again, and so does malloc.
 *
 * @param mallocTrim the compiled native/malloc-trim.c; undefined: malloc keeps its free pages
 * @param logger is told when that cannot be loaded; the process goes on without it
 */
export function collectAtRest(mallocTrim: string | undefined, logger: Pick<Logger, 'warn'>): void {
  const collect = fullCollector();
  const trim = mallocTrim === undefined ? undefined : trimmer(mallocTrim, logger);
  let state: RestState = { looks: 0, keptBytes: 0 };
  let [cpu, at] = [process.cpuUsage(), performance.now()];
  setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    const elapsedMs = performance.now() - at;
    const bytes = ownBytes();
    if (bytes !== undefined) {
      const { looks, due } = afterLook(state, { cpuMs: (user + system) / 1_000, elapsedMs, ownBytes: bytes });
      if (due) {
        collect();
        trim?.();
      }
      state = { looks, keptBytes: (due ? ownBytes() : undefined) ?? state.keptBytes };
    }
    [cpu, at] = [process.cpuUsage(), performance.now()];
  }, LOOK_MS).unref();
}

function trimmer(mallocTrim: string, logger: Pick<Logger, 'warn'>): (() => void) | undefined {
  try {
    return loadMallocTrim(mallocTrim);
  } catch (error) {
    logger.warn({ err: toError(error) }, 'the process keeps the memory that malloc has free');
    return undefined;
  }
}

/** Undefined: it cannot be read, as in a process that has no file descriptor left. */
function ownBytes(): number | undefined {
  try {
    // proc_pid_statm(5): size, resident, shared.
    const [, resident, shared] = readFileSync('/proc/self/statm', 'latin1').split(' ', 3).map(Number);
    return resident === undefined || shared === undefined ? undefined : (resident - shared) * PAGE_BYTES;
  } catch {
    return undefined;
  }
}

/**
 * The collection that V8 makes before it runs out of memory, 110 to 240 ms in a process with all services and 20 to 50 ms in one with one: the only one that gives the pages of
 * the heap back to the kernel. After others V8 keeps them for later.
 */
export function fullCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  return () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
