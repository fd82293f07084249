import type { Cancel, Clock } from '@kubus/ports';
import type { Fate } from './decide.ts';
import { disordered } from './disorder.ts';

/** A message that is to be passed on. */
interface Passage {
  readonly subject: string;
  readonly delayMs: number;
  readonly deliver: () => void;
}

/** Waiting messages of one subject, the first one first. */
interface Line {
  readonly waiting: Passage[];
  /** When the last of them is due, milliseconds since the Unix epoch. */
  due: number;
}

/** Messages that wait for each other. */
interface Window {
  readonly held: Passage[];
  readonly end: Cancel;
}

/** One path through a process: all that it sends, or all that one subscription receives. Delays what has to be late. */
export class Channel {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #onError: (error: unknown) => void;
  readonly #lines = new Map<string, Line>();
  readonly #windows = new Map<string, Window>();
  readonly #pending = new Set<Passage>();
  readonly #awaiting: { readonly left: Set<Passage>; readonly action: () => void }[] = [];

  /** @param options.onError called with errors of late deliveries, which no longer have a caller */
  constructor(options: { clock: Clock; random: () => number; onError: (error: unknown) => void }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#onError = options.onError;
  }

  /** Passes a message on according to its fate; at once when nothing delays it. */
  pass(subject: string, { dropped, copies, delayMs, reordering }: Fate, deliver: () => void): void {
    if (dropped) return;
    const all = () => {
      for (let copy = 0; copy < copies; copy++) deliver();
    };
    const passage = { subject, delayMs, deliver: all };
    if (reordering === undefined) {
      this.#queue(passage);
      return;
    }
    this.#pending.add(passage);
    const { rule, window, holdMs } = reordering;
    const held = this.#windows.get(rule)?.held ?? this.#open(rule, holdMs);
    held.push(passage);
    if (held.length >= window) this.endWindow(rule);
  }

  /** Runs an action after everything that is currently delayed has been passed on; at once when nothing is. */
  afterPending(action: () => void): void {
    if (this.#pending.size === 0) action();
    else this.#awaiting.push({ left: new Set(this.#pending), action });
  }

  /** Messages that wait for others because of the rule no longer wait. */
  endWindow(rule: string): void {
    const window = this.#windows.get(rule);
    if (window === undefined) return;
    this.#windows.delete(rule);
    window.end();
    for (const passage of disordered(window.held, this.#random)) this.#queue(passage);
  }

  /** Passes on everything that is delayed. */
  flush(): void {
    for (const rule of [...this.#windows.keys()]) this.endWindow(rule);
    for (const subject of [...this.#lines.keys()]) {
      for (const passage of this.#lines.get(subject)?.waiting.splice(0) ?? []) this.#late(passage);
      this.#lines.delete(subject);
    }
  }

  #open(rule: string, holdMs: number): Passage[] {
    const window = { held: [], end: this.#clock.after(holdMs, () => this.endWindow(rule)) };
    this.#windows.set(rule, window);
    return window.held;
  }

  /** Behind all waiting messages on the same subject. */
  #queue(passage: Passage): void {
    const { subject, delayMs } = passage;
    const line = this.#lines.get(subject);
    if (delayMs === 0 && line === undefined) {
      // A message that has waited for others is late; an error of one that has not is passed to the caller.
      if (this.#pending.has(passage)) this.#late(passage);
      else passage.deliver();
      return;
    }
    const now = this.#clock.now();
    const due = Math.max(now + delayMs, line?.due ?? 0);
    const present = line ?? { waiting: [], due };
    present.due = due;
    present.waiting.push(passage);
    this.#lines.set(subject, present);
    this.#pending.add(passage);
    // There are as many timers as messages: whichever fires first, the first message is passed on.
    this.#clock.after(due - now, () => this.#next(subject, present));
  }

  #next(subject: string, line: Line): void {
    const passage = line.waiting.shift();
    if (passage === undefined) return;
    if (line.waiting.length === 0 && this.#lines.get(subject) === line) this.#lines.delete(subject);
    this.#late(passage);
  }

  #late(passage: Passage): void {
    this.#pending.delete(passage);
    try {
      passage.deliver();
    } catch (error) {
      this.#onError(error);
    }
    for (const awaiting of [...this.#awaiting]) {
      if (!awaiting.left.delete(passage) || awaiting.left.size > 0) continue;
      this.#awaiting.splice(this.#awaiting.indexOf(awaiting), 1);
      awaiting.action();
    }
  }
}
