import type { MessageBrief, MessagePage } from '@kubus/contracts/observatory';
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { address } from '../api/address.ts';
import { useApi } from '../api/api-context.ts';
import type { MessageFilter } from './message-filter.ts';
import { type KnownPage, firstPage, isWhole, pageOfRow, pagesInSight, rowsOf, withPage } from './page-window.ts';

const pageSize = 500;
/** Pages are looked for once in so many rows: not with every frame of scrolling. */
const sightStep = 100;
/** Invisible pages are dropped after this time and read again when needed, to bound the memory. */
const keepMs = 60_000;

export interface MessageRows {
  readonly count: number;
  /** No more will come unless the recording grows. */
  readonly whole: boolean;
  readonly error: unknown;
  /** A visible page is being read. */
  readonly reading: boolean;
  readonly rowAt: (index: number) => MessageBrief | undefined;
  readonly onSight: (first: number, last: number) => void;
  /** Retries failed pages, and checks for new messages at the end. */
  readonly readOn: () => void;
}

/** The messages of a recording, loaded page by page as they become visible. */
export function useMessageRows(recording: string, filter: MessageFilter): MessageRows {
  const api = useApi();
  const queries = useQueryClient();
  const [pages, setPages] = useState(firstPage);
  const [sight, setSight] = useState({ first: 0, last: 0 });
  const pathOf = ({ after }: KnownPage): string =>
    address(['recordings', recording, 'messages'], { ...filter, after, limit: pageSize });
  const wanted = pagesInSight(pages, sight.first, sight.last, pageSize);
  const read = useQueries({
    queries: wanted.map((index) => {
      const path = pathOf(pages[index] ?? { after: undefined, start: 0 });
      return {
        queryKey: [path],
        queryFn: ({ signal }: { signal: AbortSignal }) => api.get<MessagePage>(path, signal),
        gcTime: keepMs,
      };
    }),
  });

  // The next page starts where the last one ended; rendering again is intended.
  let known = pages;
  read.forEach(({ data }, place) => {
    if (data !== undefined) known = withPage(known, wanted[place] ?? 0, data);
  });
  useEffect(() => setPages(known), [known]);

  const onSight = useCallback((first: number, last: number) => {
    const rounded = { first: Math.floor(first / sightStep) * sightStep, last: Math.ceil(last / sightStep) * sightStep };
    setSight((old) => (old.first === rounded.first && old.last === rounded.last ? old : rounded));
  }, []);
  return {
    count: rowsOf(pages),
    whole: isWhole(pages),
    reading: read.some(({ isFetching }) => isFetching),
    error: read.find(({ isError }) => isError)?.error,
    rowAt: (index) => {
      const page = pageOfRow(pages, index);
      return read[wanted.indexOf(page)]?.data?.messages[index - (pages[page]?.start ?? 0)];
    },
    onSight,
    readOn: () => {
      const last = pages.at(-1);
      for (const one of read) if (one.isError) void one.refetch();
      if (last !== undefined) void queries.invalidateQueries({ queryKey: [pathOf(last)] });
    },
  };
}
