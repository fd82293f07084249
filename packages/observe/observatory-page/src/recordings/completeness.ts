import type { Completeness } from '@kubus/contracts/observatory';
import { count } from '../format/quantity.ts';

/** What is missing from a recording, `12 never stored`; empty when it is complete. */
export function missingOf({ droppedByBroker, neverStored, unreadable }: Completeness): string[] {
  const parts: readonly (readonly [number, string])[] = [
    [droppedByBroker, 'dropped by the broker'],
    [neverStored, 'never stored'],
    [unreadable, 'unreadable'],
  ];
  return parts.filter(([messages]) => messages > 0).map(([messages, what]) => `${count(messages)} ${what}`);
}
