import type { MapEdge, ServiceMap } from '@kubus/contracts/observatory';
import { type ReactNode, useMemo } from 'react';
import { live, useServiceMap } from '../api/documents.ts';
import { useLive } from '../api/live.tsx';
import { count, duration, rate } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { useSorted } from '../grid/use-sorted.ts';
import { KindMark } from '../theme/KindMark.tsx';
import { colorOf } from '../theme/services.ts';
import { go, goQuery, useRoute } from '../route/use-route.ts';
import { Reading } from '../shell/Reading.tsx';
import { ServiceName } from '../shell/ServiceName.tsx';
import { ServiceGraph } from './ServiceGraph.tsx';
import { foldIdle, linesOf } from './map-fold.ts';

/** Which service sends which messages to which other one, how often, and their bus time. */
export function MapView(): ReactNode {
  const { recording } = useRoute();
  const map = useServiceMap(recording);
  return (
    <div className="story">
      <h1 className="visually-hidden">Map of services</h1>
      <Reading of={map} what="the map">
        {(document) => <MapOf map={document} />}
      </Reading>
    </div>
  );
}

function MapOf({ map }: { readonly map: ServiceMap }): ReactNode {
  const route = useRoute();
  const { tick } = useLive();
  const announcements = route.query['announcements'] === 'yes';
  const all = route.query['idle'] === 'yes';
  const chosen = route.query['service'];
  const { map: folded, idle } = useMemo(() => foldIdle(map, announcements), [map, announcements]);
  const shown = useMemo(
    () => (all ? { services: map.services, edges: linesOf(map.edges, announcements) } : folded),
    [all, map, announcements, folded],
  );
  const { edges } = shown;
  const listed = chosen === undefined ? edges : edges.filter(({ from, to }) => from === chosen || to === chosen);
  const about = map.services.find(({ service }) => service === chosen)?.about;
  return (
    <>
      <div className="toolbar">
        <label className="inline">
          <input
            type="checkbox"
            checked={announcements}
            onChange={({ target }) => goQuery(route, { announcements: target.checked ? 'yes' : undefined })}
          />
          announcements of instances
        </label>
        <label className="inline">
          <input
            type="checkbox"
            checked={all}
            onChange={({ target }) => goQuery(route, { idle: target.checked ? 'yes' : undefined })}
          />
          what is idle
        </label>
        {chosen === undefined ? null : (
          <button type="button" onClick={() => goQuery(route, { service: undefined })}>
            Show all
          </button>
        )}
        <span className="dim" role="status">
          {chosen === undefined
            ? all || idle.length === 0
              ? 'Point at a service to highlight its lines; choose it to list only them.'
              : `Idle here, and left out: ${idle.join(', ')}.`
            : `${chosen}: ${about ?? ''}`}
        </span>
      </div>
      <ServiceGraph
        map={shown}
        rates={route.recording === live ? tick?.rates : undefined}
        chosen={chosen}
        onChoose={(service) => goQuery(route, { service })}
      />
      <EdgeTable
        edges={listed}
        onOpen={({ type }) => go({ recording: route.recording, view: 'messages', query: { type } })}
      />
    </>
  );
}

const columns: readonly Column<MapEdge>[] = [
  {
    id: 'from',
    title: 'From',
    width: '148px',
    value: ({ from }) => from,
    cell: ({ from }) => <ServiceName service={from} />,
  },
  { id: 'to', title: 'To', width: '148px', value: ({ to }) => to, cell: ({ to }) => <ServiceName service={to} /> },
  {
    id: 'type',
    title: 'Type',
    width: 'minmax(200px, 1fr)',
    value: ({ type }) => type,
    cell: ({ type, kind, from }) => (
      <>
        <KindMark kind={kind} color={colorOf(from)} /> {type}
      </>
    ),
  },
  {
    id: 'messages',
    title: 'Messages',
    width: '100px',
    align: 'right',
    descendingFirst: true,
    value: ({ messages }) => messages,
    cell: ({ messages }) => count(messages),
  },
  {
    id: 'rate',
    title: 'per s',
    width: '70px',
    align: 'right',
    descendingFirst: true,
    value: (edge) => edge.rate,
    cell: (edge) => rate(edge.rate),
  },
  {
    id: 'p50',
    title: 'Bus, median',
    width: '100px',
    align: 'right',
    descendingFirst: true,
    hint: 'Bus time of messages that caused other messages',
    value: ({ busP50 }) => busP50,
    cell: ({ busP50 }) => (busP50 === undefined ? '–' : duration(busP50)),
  },
  {
    id: 'p95',
    title: 'Bus, 95 %',
    width: '90px',
    align: 'right',
    descendingFirst: true,
    value: ({ busP95 }) => busP95,
    cell: ({ busP95 }) => (busP95 === undefined ? '–' : duration(busP95)),
  },
];

const mostFirst = { column: 'messages', descending: true };

interface EdgeTableProps {
  readonly edges: readonly MapEdge[];
  readonly onOpen: (edge: MapEdge) => void;
}

function EdgeTable({ edges, onOpen }: EdgeTableProps): ReactNode {
  const { sorted, sort, setSort } = useSorted(edges, columns, 'sort', mostFirst);
  return (
    <DataGrid
      label="Messages between services"
      columns={columns}
      count={sorted.length}
      rowAt={(index) => sorted[index]}
      keyOf={({ from, to, type }) => `${from} ${to} ${type}`}
      sort={sort}
      onSort={setSort}
      onOpen={onOpen}
      empty={
        <>
          No service has sent a message to another in this recording. Start a pod: put a manifest into the folder that{' '}
          <code>./kubus up --manifests PATH</code> named.
        </>
      }
    />
  );
}
