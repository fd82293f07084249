import { type Item, itemSchema } from '@kubus/journal';
import * as z from 'zod';
import type { RecordedLife } from './recording.ts';

const itemsSchema = z.array(itemSchema);

/** The number of passed entries at which they are dropped from memory. */
const DROP_AT = 1_000;

/** The journal of a life from its start to the first gap, read part by part when entries are needed. */
export class Journal {
  readonly #life: RecordedLife;
  /** The entries in memory, and the index of the first one. */
  readonly #items: Item[] = [];
  #first = 0;
  #parts = 0;
  #gap: string | undefined;

  constructor(life: RecordedLife) {
    this.#life = life;
  }

  /** Why the journal is incomplete, if that is known by now. */
  get gap(): string | undefined {
    return this.#gap;
  }

  /** The entry at an index; undefined at the end. Throws a ZodError for an invalid journal. */
  at(index: number): Item | undefined {
    while (index >= this.#first + this.#items.length && this.#readPart());
    return this.#items[index - this.#first];
  }

  /** Up to `count` entries before `index`, as far as they are in memory. */
  before(index: number, count: number): readonly Item[] {
    const end = Math.max(0, index - this.#first);
    return this.#items.slice(Math.max(0, end - count), end);
  }

  /** Entries before this one are no longer needed. */
  passed(index: number): void {
    const behind = index - this.#first;
    if (behind < DROP_AT) return;
    this.#items.splice(0, behind);
    this.#first = index;
  }

  #readPart(): boolean {
    if (this.#gap !== undefined) return false;
    const items = this.#life.part(this.#parts);
    if (items === undefined) {
      if (this.#life.parts === 0) this.#gap = 'the recording does not contain the journal';
      else if (this.#parts < this.#life.parts) this.#gap = `part ${this.#parts} of the journal is not in the recording`;
      return false;
    }
    this.#parts += 1;
    for (const item of itemsSchema.parse(items)) {
      if (Array.isArray(item) && item[0] === 'stray') {
        this.#gap = `message ${item[1]} was triggered by something that is not journaled`;
        return true;
      }
      this.#items.push(item);
    }
    return true;
  }
}

/** An entry as text. */
export function describeItem(item: Item): string {
  if (typeof item === 'number') return `reads the clock, ${item} µs after the last time`;
  switch (item[0]) {
    case 'value':
      return `reads the value ${JSON.stringify(item[1])}`;
    case 'message':
      return `receives ${typeof item[2] === 'string' ? item[2] : `a message on ${item[2].subject}`}`;
    case 'in':
      return `receives ${JSON.stringify(item[2]).slice(0, 200)} from ${item[1]}`;
    case 'out':
      return `publishes its message ${item[1]}`;
    case 'do':
      return `${item[1]} ${JSON.stringify(item[2])}`;
    case 'threw':
      return `which fails: ${item[1]}`;
    case 'stray':
      return `publishes its message ${item[1]} without a journaled cause`;
  }
}

/** Whether an entry is an input, with which a turn begins. */
export function isInput(item: Item): boolean {
  return Array.isArray(item) && (item[0] === 'message' || item[0] === 'in');
}
