import { type Clock, toError } from '@kubus/ports';
import { stat } from 'node:fs';
import type { Door } from './door.ts';
import type { Health } from './health.ts';

/** How often the process looks at itself, in milliseconds. */
const LOOK_MS = 10_000;
/** How late a look, a file thread or the answer at a door may be, in milliseconds. */
const LATE_MS = 20_000;

/**
 * What a service knows of its own life: its event loop has turns for timers, its file threads do work, and its own requests at its doors
 * are answered. Each is a check of `/healthz`, which the launcher reads; no answer at all is what says most.
 */
export class Liveness {
  readonly #clock: Clock;
  readonly #health: Health;
  readonly #watched: Watched[] = [];
  #looked: number;
  #timer: NodeJS.Timeout | undefined;

  /** @param options.fileThread resolves when a file thread has done some work; default: looks at the root folder */
  constructor(options: { health: Health; clock: Clock; fileThread?: Door }) {
    const { health, clock, fileThread = oneFileThread } = options;
    this.#clock = clock;
    this.#health = health;
    this.#looked = clock.now();
    health.live('event loop', () => overdue('no timer has run', clock.now() - this.#looked - LOOK_MS));
    this.door('file threads', fileThread);
  }

  /** From now on the service's own requests at this door have to be answered. */
  door(name: string, door: Door): void {
    const watched = new Watched(door, this.#clock);
    this.#watched.push(watched);
    this.#health.live(name, () => watched.problem);
  }

  /** Looks from now on. */
  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  look(): void {
    this.#looked = this.#clock.now();
    for (const one of this.#watched) one.look();
  }
}

/** Something that is asked for an answer, one request at a time. */
class Watched {
  readonly #door: Door;
  readonly #clock: Clock;
  #isAsked = false;
  /** Since when there was no good answer, and why. */
  #bad: { readonly since: number; why: string } | undefined;

  constructor(door: Door, clock: Clock) {
    this.#door = door;
    this.#clock = clock;
  }

  get problem(): string | undefined {
    return this.#bad && overdue(this.#bad.why, this.#clock.now() - this.#bad.since);
  }

  look(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const bad = (this.#bad ??= { since: this.#clock.now(), why: 'no answer' });
    this.#door().then(
      () => {
        this.#isAsked = false;
        this.#bad = undefined;
      },
      (thrown: unknown) => {
        this.#isAsked = false;
        bad.why = toError(thrown).message;
      },
    );
  }
}

function overdue(what: string, ms: number): string | undefined {
  return ms > LATE_MS ? `${what} for ${Math.floor(ms / 1000)} s` : undefined;
}

function oneFileThread(): Promise<void> {
  return new Promise((resolve) => stat('/', () => resolve()));
}
