// Random histories of one attachment against a model of its chain and journal: callers that repeat requests, plugins
// that fail before or after their effect, a journal that fails, and crashes between any two steps.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { advance } from './attachment.ts';
import type { AttachmentRecord, AttachmentRequest } from './attachment-record.ts';
import {
  type AttachmentInput,
  type AttachmentState,
  type Operation,
  isBusy,
  restoreAttachment,
} from './attachment-state.ts';
import { CniError } from './cni-error.ts';

const CHAIN = 3;

const request: AttachmentRequest = {
  containerId: 'c1',
  ifname: 'eth0',
  netns: '/run/netns/a',
  args: '',
  network: {
    file: 'a.conflist',
    name: 'pods',
    cniVersion: '1.0.0',
    disableCheck: false,
    disableGC: false,
    plugins: Array.from({ length: CHAIN }, (_, index) => ({ type: `plugin${index}` })),
  },
  capabilityArgs: {},
  askedAt: 0,
};

type Event = 'add' | 'del' | 'check' | 'succeed' | 'fail' | 'fail late' | 'crash' | 'crash late';

class World {
  state: AttachmentState = { phase: 'absent' };
  journal: AttachmentRecord | undefined;
  /** What each plugin has allocated: the number of its lease. */
  readonly held: (number | undefined)[] = Array.from({ length: CHAIN }, () => undefined);
  operation: Operation | undefined;
  #asks = 0;
  #leases = 0;
  /** Callers without an answer yet, by number. */
  readonly #waiting = new Map<number, 'add' | 'del' | 'check'>();
  /** The answer about the attachment since it was last added. */
  #answered: unknown;

  happen(event: Event): void {
    switch (event) {
      case 'add':
        this.#ask('add', { kind: 'add', ask: ++this.#asks, request });
        break;
      case 'del':
        this.#answered = undefined;
        this.#ask('del', { kind: 'del', ask: ++this.#asks, unknown: request });
        break;
      case 'check':
        this.#ask('check', { kind: 'check', ask: ++this.#asks });
        break;
      case 'crash':
      case 'crash late':
        if (event === 'crash late') {
          this.#effect();
        }
        this.#restart();
        break;
      default:
        this.#operate(event);
    }
    this.#mustNotLeak();
  }

  /** Nothing fails any more, and the owner removes unfinished attachments. */
  settle(): void {
    for (let step = 0; step < 100 && (isBusy(this.state) || this.state.phase === 'unfinished'); step += 1) {
      this.happen(isBusy(this.state) ? 'succeed' : 'del');
    }
    expect(isBusy(this.state)).toBe(false);
  }

  #ask(kind: 'add' | 'del' | 'check', input: AttachmentInput & { ask: number }): void {
    this.#waiting.set(input.ask, kind);
    this.#input(input);
  }

  #input(input: AttachmentInput): void {
    const { state, operation, answers } = advance(this.state, input);
    this.state = state;
    if (operation !== undefined) {
      expect(this.operation).toBeUndefined();
      this.operation = operation;
    }
    for (const { ask, outcome } of answers) {
      const kind = this.#waiting.get(ask);
      expect(kind).toBeDefined(); // No caller gets two answers.
      this.#waiting.delete(ask);
      if (kind === 'add' && !('error' in outcome)) {
        expect(this.held).not.toContain(undefined);
        expect(outcome.result?.ips[0]?.address).toBe(`10.0.0.${String(this.held.at(-1))}/8`);
        this.#answered ??= outcome.result;
        expect(outcome.result).toEqual(this.#answered);
        expect(this.journal).toMatchObject({ state: 'added', result: outcome.result });
      }
      if (kind === 'del' && !('error' in outcome)) {
        expect(this.journal).toBeUndefined();
        expect(this.held.every((lease) => lease === undefined)).toBe(true);
      }
    }
    if (!isBusy(this.state)) {
      expect(this.operation).toBeUndefined();
      expect([...this.#waiting]).toEqual([]); // No caller is forgotten.
    } else {
      expect(this.operation).toBeDefined();
    }
  }

  #operate(event: 'succeed' | 'fail' | 'fail late'): void {
    if (this.operation === undefined) {
      return;
    }
    const { kind } = this.operation;
    // A write to the journal is atomic; only a plugin can fail after its effect.
    const result = event === 'succeed' || (event === 'fail late' && kind === 'plugin') ? this.#effect() : undefined;
    this.operation = undefined;
    this.#input(event === 'succeed' ? { kind: 'done', result } : { kind: 'failed', error: new CniError(100, 'no') });
  }

  /** Performs the operation in progress. */
  #effect() {
    const { operation } = this;
    switch (operation?.kind) {
      case 'record':
        this.journal = operation.record;
        return undefined;
      case 'forget':
        this.journal = undefined;
        return undefined;
      case 'plugin':
        return this.#runPlugin(operation);
      case undefined:
        return undefined;
    }
  }

  #runPlugin({ command, index, prevResult }: Extract<Operation, { kind: 'plugin' }>) {
    if (command === 'DEL') {
      this.held[index] = undefined;
      return undefined;
    }
    if (command === 'CHECK') {
      expect(this.held[index]).toBeDefined();
      return undefined;
    }
    expect(this.held[index]).toBeUndefined(); // A plugin refuses an ADD of what it has already allocated.
    expect(this.held.slice(0, index)).not.toContain(undefined);
    expect(prevResult?.ips[0]?.address).toBe(index === 0 ? undefined : `10.0.0.${String(this.held[index - 1])}/8`);
    this.#leases += 1;
    this.held[index] = this.#leases;
    return { interfaces: [], ips: [{ address: `10.0.0.${this.#leases}/8` }], routes: [], dns: {} };
  }

  #restart(): void {
    this.operation = undefined;
    this.#waiting.clear();
    this.state = this.journal === undefined ? { phase: 'absent' } : restoreAttachment(this.journal);
  }

  /** The journal has a record of everything that a plugin has allocated, and an attachment recorded as added is complete. */
  #mustNotLeak(): void {
    if (this.held.some((lease) => lease !== undefined)) {
      expect(this.journal).toBeDefined();
    }
    if (this.journal?.state === 'added') {
      expect(this.held).not.toContain(undefined);
    }
  }
}

const asks = fc.constantFrom<Event>('add', 'add', 'del', 'check');
const outcomes = fc.constantFrom<Event>(
  'succeed',
  'succeed',
  'succeed',
  'succeed',
  'fail',
  'fail late',
  'crash',
  'crash late',
);

test('no history leaks, forgets a caller, or returns two results for one attachment', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 1, arbitrary: asks }, { weight: 2, arbitrary: outcomes }), { maxLength: 60 }),
      (events) => {
        const world = new World();
        for (const event of events) {
          world.happen(event);
        }
        world.settle();
        world.happen('del');
        world.settle();
        expect(world.journal).toBeUndefined();
        expect(world.held.every((lease) => lease === undefined)).toBe(true);
        expect(world.state).toEqual({ phase: 'absent' });
      },
    ),
    { numRuns: 500 },
  );
});

// A single fault at every step of an attachment's life, one after the other, so that no coverage depends on chance.
const whole: Event[] = ['add', ...Array.from({ length: 2 * CHAIN + 1 }, (): Event => 'succeed')];
const life: Event[] = [...whole, 'del', ...Array.from({ length: CHAIN + 2 }, (): Event => 'succeed')];
const faults: Event[] = ['fail', 'fail late', 'crash', 'crash late', 'add', 'del', 'check'];

test.each(life.flatMap((_, at) => faults.map((fault): [Event, number] => [fault, at])))(
  '%s at step %i of an attachment’s life leaks nothing',
  (fault, at) => {
    const world = new World();
    for (const event of life.slice(0, at)) {
      world.happen(event);
    }
    world.happen(fault);
    world.settle();
    world.happen('add');
    world.settle();
    expect(world.state.phase).toBe('added');
    expect(world.held).not.toContain(undefined);
    world.happen('del');
    world.settle();
    expect(world.held.every((lease) => lease === undefined)).toBe(true);
    expect(world.journal).toBeUndefined();
  },
);
