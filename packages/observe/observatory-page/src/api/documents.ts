import type {
  Comparison,
  DensityDocument,
  FaultsDocument,
  LIVE,
  LatencyDocument,
  MessageDocument,
  ObservatoryDocument,
  PodSummary,
  PodTimeline,
  PressureDocument,
  RecordingDocument,
  ServiceMap,
  TopologyDocument,
} from '@kubus/contracts/observatory';
import { type UseQueryResult, keepPreviousData, useQuery } from '@tanstack/react-query';
import { address } from './address.ts';
import { useApi } from './api-context.ts';

/** Name of the recording that a running node always has. */
export const live: typeof LIVE = '~live';

/** Minimum time between two reads of a growing document, in milliseconds. */
export const liveEveryMs = 2000;

/** How often the faults are read again: the mark of active faults must not be late. */
const faultsEveryMs = 1000;

/** How often the node reads its signals, and the page them. */
const pressureEveryMs = 10_000;

export type What = 'start' | 'stop';

/** A document of the API; the previous data stays visible while it is read again. */
function useDocument<T>(path: string | undefined): UseQueryResult<T> {
  const api = useApi();
  return useQuery<T>({
    queryKey: [path],
    queryFn: ({ signal }) => api.get<T>(path ?? '', signal),
    enabled: path !== undefined,
  });
}

export function useObservatory(): UseQueryResult<ObservatoryDocument> {
  return useDocument('/');
}

export function useRecordings(): UseQueryResult<RecordingDocument[]> {
  return useDocument('/recordings');
}

export function useRecording(name: string): UseQueryResult<RecordingDocument> {
  return useDocument(address(['recordings', name]));
}

export function usePods(name: string | undefined): UseQueryResult<PodSummary[]> {
  return useDocument(name === undefined ? undefined : address(['recordings', name, 'pods']));
}

export function usePodTimeline(name: string, uid: string): UseQueryResult<PodTimeline> {
  return useDocument(address(['recordings', name, 'pods', uid]));
}

export function useMessage(name: string, seq: number): UseQueryResult<MessageDocument> {
  return useDocument(address(['recordings', name, 'messages', String(seq)]));
}

export function useDensity(name: string, buckets: number): UseQueryResult<DensityDocument> {
  return useDocument(address(['recordings', name, 'density'], { buckets }));
}

export function useLatency(name: string, what: What): UseQueryResult<LatencyDocument> {
  return useDocument(address(['recordings', name, 'latency'], { what }));
}

export function useServiceMap(name: string): UseQueryResult<ServiceMap> {
  return useDocument(address(['recordings', name, 'map']));
}

export function useComparison(left: string, right: string, what: What): UseQueryResult<Comparison> {
  const both = left !== '' && right !== '';
  return useDocument(both ? address(['compare'], { left, right, what }) : undefined);
}

/** The active faults on the node, with growing counters; not read from a node without faults. */
export function useFaults(): UseQueryResult<FaultsDocument> {
  const api = useApi();
  const observatory = useObservatory().data;
  return useQuery<FaultsDocument>({
    queryKey: ['/faults'],
    queryFn: ({ signal }) => api.get<FaultsDocument>('/faults', signal),
    enabled: observatory?.faults === true,
    refetchInterval: faultsEveryMs,
  });
}

/** What the node has left; the pods are ranked for `signal`, or for the nearest to its threshold. Not read without a node. */
export function usePressure(signal: string | undefined): UseQueryResult<PressureDocument> {
  const api = useApi();
  const observatory = useObservatory().data;
  const path = address(['pressure'], { signal });
  return useQuery<PressureDocument>({
    queryKey: [path],
    queryFn: ({ signal: ended }) => api.get<PressureDocument>(path, ended),
    enabled: observatory?.node !== undefined,
    refetchInterval: pressureEveryMs,
    placeholderData: keepPreviousData,
  });
}

/**
 * The node's machine at a moment of a recording, and who has what of it; what was shown stays until the next is read.
 *
 * @param at milliseconds since the Unix epoch; undefined: its end
 */
export function useTopology(name: string, at: number | undefined): UseQueryResult<TopologyDocument> {
  const api = useApi();
  const path = address(['recordings', name, 'topology'], { at });
  return useQuery<TopologyDocument>({
    queryKey: [path],
    queryFn: ({ signal }) => api.get<TopologyDocument>(path, signal),
    placeholderData: keepPreviousData,
  });
}

export function useContract(): UseQueryResult {
  return useDocument('/contract');
}
