import { type Item, itemSchema } from '@kubus/journal';
import * as z from 'zod';
import type { RecordedLife } from './recording.ts';

const itemsSchema = z.array(itemSchema);

/** The journal of a life from its start on, as far as it goes without a gap. */
export interface WholeJournal {
  readonly items: readonly Item[];
  /** Why there is no more of it, where that is known. */
  readonly gap?: string | undefined;
}

/** Puts a life's journal together from its parts. Throws a ZodError when it is none. */
export function journalOf({ parts }: RecordedLife): WholeJournal {
  const items: Item[] = [];
  for (let part = 0; part < parts.size; part++) {
    const text = parts.get(part);
    if (text === undefined) return { items, gap: `part ${part} of the journal is not in the recording` };
    for (const item of itemsSchema.parse(JSON.parse(text))) {
      if (Array.isArray(item) && item[0] === 'stray') {
        return { items, gap: `message ${item[1]} came from outside of what is journaled` };
      }
      items.push(item);
    }
  }
  return parts.size === 0 ? { items, gap: 'no part of the journal is in the recording' } : { items };
}

/** An entry for people. */
export function describeItem(item: Item): string {
  if (typeof item === 'number') return `reads the clock, ${item} µs after it did last`;
  switch (item[0]) {
    case 'value':
      return `takes ${JSON.stringify(item[1])}`;
    case 'message':
      return `gets ${typeof item[2] === 'string' ? item[2] : `a message on ${item[2].subject}`}`;
    case 'in':
      return `gets ${JSON.stringify(item[2]).slice(0, 200)} of ${item[1]}`;
    case 'out':
      return `sends its message ${item[1]}`;
    case 'do':
      return `${item[1]} ${JSON.stringify(item[2])}`;
    case 'threw':
      return `which fails: ${item[1]}`;
    case 'stray':
      return `sends its message ${item[1]}, which nothing led to`;
  }
}

/** Whether an entry is something that came in, with which a turn begins. */
export function isInput(item: Item): boolean {
  return Array.isArray(item) && (item[0] === 'message' || item[0] === 'in');
}
