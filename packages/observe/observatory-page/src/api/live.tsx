import type { LiveTick, RecordingDocument } from '@kubus/contracts/observatory';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, createContext, useContext, useEffect, useState } from 'react';
import { useApi } from './api-context.ts';
import { address } from './address.ts';
import { liveEveryMs } from './documents.ts';

export interface LiveState {
  /** `connecting` also while a lost stream is opened again. */
  readonly state: 'connecting' | 'open';
  /** The last one. */
  readonly tick?: LiveTick;
}

const LiveContext = createContext<LiveState>({ state: 'connecting' });

const retryMs = 3000;

export function useLive(): LiveState {
  return useContext(LiveContext);
}

/** Follows the node, and reloads the documents of its live recording when there is something new. */
export function LiveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const [state, setState] = useState<LiveState>({ state: 'connecting' });

  useEffect(() => {
    const ended = new AbortController();
    let readAt = 0;
    let seq = -1;
    const take = (tick: LiveTick): void => {
      setState({ state: 'open', tick });
      if (tick.seq === seq || tick.at - readAt < liveEveryMs) return;
      seq = tick.seq;
      readAt = tick.at;
      const recordings = queries.getQueryData<RecordingDocument[]>(['/recordings']) ?? [];
      void queries.invalidateQueries({ predicate: ({ queryKey: [path] }) => grows(path, recordings) });
    };
    const follow = async (): Promise<void> => {
      try {
        for await (const data of api.events('/live', ended.signal)) take(JSON.parse(data) as LiveTick);
      } catch {
        // Errors are shown where a document cannot be read; the stream only reconnects.
      }
      if (ended.signal.aborted) return;
      setState({ state: 'connecting' });
      window.setTimeout(() => void follow(), retryMs);
    };
    void follow();
    return () => ended.abort();
  }, [api, queries]);

  return <LiveContext value={state}>{children}</LiveContext>;
}

/** Whether a document is about a recording that grows. A list of messages must not jump while it is read. */
function grows(path: unknown, recordings: readonly RecordingDocument[]): boolean {
  if (typeof path !== 'string') return false;
  if (path === '/recordings') return true;
  const growing = recordings.filter(({ state }) => state === 'live' || state === 'recording');
  const prefixes = growing.map(({ name }) => address(['recordings', name]));
  return prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`)) && !path.includes('/messages');
}
