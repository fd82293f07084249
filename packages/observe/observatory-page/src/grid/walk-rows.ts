import type { KeyboardEvent } from 'react';
import { rowAfterKey } from './sorting.ts';

const controls = 'a[href], button:not(:disabled), select:not(:disabled), input:not(:disabled)';

/** Rows that one key moves by in a list without pages. */
const page = 10;

/**
 * The arrow keys, Home and End in a table or list of links and buttons: they go to the same control of another row. To be used
 * as `onKeyDown` of the element around its rows.
 */
export function walkRows(event: KeyboardEvent): void {
  const { target, currentTarget } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof HTMLElement) || ownsKeys(target)) return;
  const rows = [...currentTarget.querySelectorAll('tr, li')].filter((row) => row.querySelector(controls) !== null);
  const at = rows.findIndex((row) => row.contains(target));
  const to = rowAfterKey(event.key, at, rows.length, page);
  if (to === undefined) return;
  const own = controlsOf(rows[at]);
  const there = controlsOf(rows[to]);
  event.preventDefault();
  there[Math.min(Math.max(0, own.indexOf(target)), there.length - 1)]?.focus();
}

/** Elements with an own meaning of arrow keys. */
function ownsKeys(element: HTMLElement): boolean {
  return element.matches('select, input, textarea');
}

function controlsOf(row: Element | undefined): HTMLElement[] {
  return [...(row?.querySelectorAll<HTMLElement>(controls) ?? [])];
}
