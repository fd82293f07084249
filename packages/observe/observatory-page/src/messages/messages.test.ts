import { expect, test } from '@jest/globals';
import type { MessageBrief } from '@kubus/contracts/observatory';
import fc from 'fast-check';
import { expectedMessages, filterKey, filterOf, isFiltered } from './message-filter.ts';
import { type KnownPage, firstPage, isWhole, pageOfRow, pagesInSight, rowsOf, withPage } from './page-window.ts';

const messages = (rows: number): MessageBrief[] => Array.from({ length: rows }, (_, seq) => ({ seq }) as MessageBrief);

/** Loads all pages of a recording with pages of these lengths. */
function readAll(lengths: readonly number[]): readonly KnownPage[] {
  let pages = firstPage;
  lengths.forEach((rows, index) => {
    const next = index + 1 < lengths.length ? { next: index + 1 } : {};
    pages = withPage(pages, index, { messages: messages(rows), ...next });
  });
  return pages;
}

test('a completely loaded list has as many rows as its pages together', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }), (lengths) => {
      const pages = readAll(lengths);
      expect(isWhole(pages)).toBe(true);
      expect(rowsOf(pages)).toBe(lengths.reduce((sum, rows) => sum + rows, 0));
      lengths.forEach((rows, page) => {
        const start = pages[page]?.start ?? -1;
        expect(pageOfRow(pages, start)).toBe(page);
        expect(pageOfRow(pages, start + rows - 1)).toBe(page);
      });
    }),
  );
});

test('loading a page again changes nothing', () => {
  const pages = readAll([5, 5, 2]);
  expect(withPage(pages, 1, { messages: messages(5), next: 2 })).toBe(pages);
  expect(withPage(pages, 2, { messages: messages(2) })).toBe(pages);
});

test('the part not yet loaded is one row, and the next page is requested before it is reached', () => {
  const pages = withPage(firstPage, 0, { messages: messages(500), next: 500 });
  expect(rowsOf(pages)).toBe(501);
  expect(isWhole(pages)).toBe(false);
  expect(pagesInSight(pages, 0, 30, 100)).toEqual([0]);
  expect(pagesInSight(pages, 380, 420, 100)).toEqual([0, 1]);
});

test('a growing last page extends the list, also by another page', () => {
  const pages = readAll([5, 2]);
  expect(rowsOf(withPage(pages, 1, { messages: messages(4) }))).toBe(9);
  const grown = withPage(pages, 1, { messages: messages(5), next: 10 });
  expect(grown.at(-1)).toEqual({ after: 10, start: 10 });
  expect(isWhole(grown)).toBe(false);
});

test('an empty recording is complete at once', () => {
  const pages = withPage(firstPage, 0, { messages: [] });
  expect(isWhole(pages)).toBe(true);
  expect(rowsOf(pages)).toBe(0);
});

test('the filter is read from the address', () => {
  const filter = filterOf({ kind: 'cmd', pod: 'u', message: '7' });
  expect(filter).toMatchObject({ kind: 'cmd', pod: 'u' });
  expect(isFiltered(filter)).toBe(true);
  expect(isFiltered(filterOf({ message: '7', kind: 'nonsense' }))).toBe(false);
  expect(filterKey(filterOf({ message: '7' }))).toBe(filterKey(filterOf({})));
  expect(filterKey(filterOf({ pod: 'a' }))).not.toBe(filterKey(filterOf({ type: 'a' })));
});

test.each([
  [{}, 100],
  [{ source: 'sync-loop' }, 40],
  [{ from: '10', to: '20' }, 60],
  [{ from: '10', to: '20', source: 'sync-loop' }, 10],
  [{ source: 'sync-loop-0' }, undefined],
  [{ kind: 'cmd' }, undefined],
  [{ pod: 'u' }, undefined],
  [{ type: 'worker.fact.status/1' }, undefined],
])('with the filter %j about %p messages are expected', (query, messages) => {
  const services = [
    { service: 'sync-loop', counts: [30, 10] },
    { service: 'pod-workers', counts: [10, 50] },
  ];
  expect(expectedMessages(filterOf(query), { from: 0, to: 20, bucketMs: 10, services })).toBe(messages);
  expect(expectedMessages(filterOf(query), undefined)).toBeUndefined();
});
