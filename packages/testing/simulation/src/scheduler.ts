import type { Cancel, Clock } from '@kubus/ports';

interface Step {
  readonly at: number;
  readonly order: number;
  readonly action: () => void;
  cancelled: boolean;
}

/** Every run starts at this time, so that two runs of one seed write the same times. */
const START = Date.UTC(2030, 0, 1);

/**
 * Virtual time. Steps run one after another in order of time; between two steps everything that they made ready
 * (resolved promises) runs to its end, so a step is what a process does without waiting for anything outside.
 */
export class Scheduler implements Clock {
  readonly #heap: Step[] = [];
  #now = START;
  #order = 0;
  #steps = 0;
  #running = false;

  now(): number {
    return this.#now;
  }

  /** Milliseconds since the start of the run. */
  elapsed(): number {
    return this.#now - START;
  }

  /** Steps run so far. */
  get steps(): number {
    return this.#steps;
  }

  after(ms: number, action: () => void): Cancel {
    const step: Step = { at: this.#now + Math.max(0, ms), order: this.#order++, action, cancelled: false };
    this.#push(step);
    return () => {
      step.cancelled = true;
    };
  }

  /**
   * Runs steps until `done` returns true, nothing is left, or virtual time has advanced by `limitMs`. Returns whether
   * `done` was reached. One run at a time: a second one would use up the virtual time of the first.
   */
  async run(done: () => boolean, limitMs: number): Promise<boolean> {
    if (this.#running) throw new Error('the scheduler is already running');
    this.#running = true;
    try {
      // One turn of the event loop: lets a test's own timers run between two runs.
      await new Promise((resolve) => setImmediate(resolve));
      return await this.#runUntil(done, this.#now + limitMs);
    } finally {
      this.#running = false;
    }
  }

  async #runUntil(done: () => boolean, end: number): Promise<boolean> {
    for (;;) {
      if (done()) return true;
      const step = this.#pop();
      if (step === undefined) return false;
      if (step.cancelled) continue;
      if (step.at > end) {
        this.#push(step);
        this.#now = end;
        return false;
      }
      this.#now = step.at;
      this.#steps += 1;
      step.action();
      await settle();
    }
  }

  #push(step: Step): void {
    const heap = this.#heap;
    heap.push(step);
    let child = heap.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#before(child, parent)) break;
      this.#swap(child, parent);
      child = parent;
    }
  }

  #pop(): Step | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      if (left >= heap.length) return first;
      const child = left + 1 < heap.length && this.#before(left + 1, left) ? left + 1 : left;
      if (!this.#before(child, parent)) return first;
      this.#swap(child, parent);
      parent = child;
    }
  }

  #before(a: number, b: number): boolean {
    const left = this.#heap[a];
    const right = this.#heap[b];
    if (left === undefined || right === undefined) return false;
    return left.at < right.at || (left.at === right.at && left.order < right.order);
  }

  #swap(a: number, b: number): void {
    const left = this.#heap[a];
    const right = this.#heap[b];
    if (left === undefined || right === undefined) return;
    this.#heap[a] = right;
    this.#heap[b] = left;
  }
}

/** Lets every ready promise run to its end: a tick runs after them, without a turn of the event loop. */
function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
