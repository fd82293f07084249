import type { DensityDocument, PodSummary } from '@kubus/contracts/observatory';
import { type ReactNode, useId, useMemo } from 'react';
import { useContract } from '../api/documents.ts';
import { readContract } from '../contract/contract-types.ts';
import { kindNames } from '../theme/kind-shape.ts';
import { byPlace } from '../theme/services.ts';
import { goQuery, useRoute } from '../route/use-route.ts';
import { type MessageFilter, isFiltered, kinds } from './message-filter.ts';

interface Props {
  readonly filter: MessageFilter;
  readonly pods: readonly PodSummary[];
  /** Metadata of the recording, with its services. */
  readonly density: DensityDocument | undefined;
}

/** Limit of pods offered by name: browsers cannot handle tens of thousands. */
const offered = 500;

/** Filters for the list of messages. */
export function MessageFilters({ filter, pods, density }: Props): ReactNode {
  const route = useRoute();
  const contract = useContract().data;
  const id = useId();
  const services = (density?.services ?? []).map(({ service }) => service).sort(byPlace);
  const types = useMemo(() => readContract(contract).types.map(({ type }) => type), [contract]);
  const pod = pods.find(({ uid }) => uid === filter.pod);
  const set = (changes: Readonly<Record<string, string | undefined>>): void => goQuery(route, changes);
  return (
    <div className="toolbar">
      <label>
        Pod
        <input
          key={filter.pod}
          type="search"
          data-filter=""
          list={`${id}-pods`}
          placeholder="name or UID"
          defaultValue={pod?.name ?? filter.pod ?? ''}
          onChange={({ target: { value } }) => {
            const named = pods.find(({ name, uid }) => name === value || uid === value);
            if (named !== undefined) set({ pod: named.uid });
            if (value === '') set({ pod: undefined });
          }}
        />
        <datalist id={`${id}-pods`}>
          {pods.slice(0, offered).map(({ uid, name, namespace }) => (
            <option key={uid} value={name}>
              {namespace}
            </option>
          ))}
        </datalist>
      </label>
      <label>
        Type
        <input
          key={filter.type}
          type="search"
          list={`${id}-types`}
          placeholder="worker.fact.status/1"
          defaultValue={filter.type ?? ''}
          onBlur={({ target: { value } }) => set({ type: value })}
          onKeyDown={(event) => {
            if (event.key === 'Enter') set({ type: event.currentTarget.value });
          }}
        />
        <datalist id={`${id}-types`}>
          {types.map((type) => (
            <option key={type} value={type} />
          ))}
        </datalist>
      </label>
      <label>
        Source
        <select value={filter.source ?? ''} onChange={({ target: { value } }) => set({ source: value })}>
          <option value="">any</option>
          {filter.source === undefined || services.includes(filter.source) ? null : <option>{filter.source}</option>}
          {services.map((service) => (
            <option key={service}>{service}</option>
          ))}
        </select>
      </label>
      <label>
        Kind
        <select value={filter.kind ?? ''} onChange={({ target: { value } }) => set({ kind: value })}>
          <option value="">any</option>
          {kinds.map((kind) => (
            <option key={kind} value={kind}>
              {kindNames[kind]}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        disabled={!isFiltered(filter)}
        onClick={() =>
          set({ pod: undefined, type: undefined, source: undefined, kind: undefined, from: undefined, to: undefined })
        }
      >
        Clear
      </button>
    </div>
  );
}
