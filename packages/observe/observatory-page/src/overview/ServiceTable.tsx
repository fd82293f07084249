import type { DensityDocument } from '@kubus/contracts/observatory';
import { type ReactNode, useMemo } from 'react';
import { count, rate } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { useSorted } from '../grid/use-sorted.ts';
import { go, useRoute } from '../route/use-route.ts';
import { ServiceName } from '../shell/ServiceName.tsx';
import { type SaidByService, saidByService } from './density-layout.ts';

interface Props {
  readonly density: DensityDocument;
  /** Current messages per second; absent if the recording does not grow. */
  readonly rates: Readonly<Record<string, number>> | undefined;
}

/** The services of the node with their message counts. Enter shows the messages of one. */
export function ServiceTable({ density, rates }: Props): ReactNode {
  const route = useRoute();
  const services = useMemo(() => saidByService(density), [density]);
  const columns = useMemo((): readonly Column<SaidByService>[] => {
    const rateOf = ({ service, rate: recorded }: SaidByService): number =>
      rates?.[service] ?? (rates === undefined ? recorded : 0);
    return [
      {
        id: 'service',
        title: 'Service',
        width: 'minmax(130px, 1fr)',
        value: ({ service }) => service,
        cell: ({ service }) => <ServiceName service={service} />,
      },
      {
        id: 'messages',
        title: 'Messages',
        width: '82px',
        align: 'right',
        descendingFirst: true,
        value: ({ messages }) => messages,
        cell: ({ messages }) => count(messages),
      },
      {
        id: 'rate',
        title: 'per s',
        hint: rates === undefined ? 'On average over the recording' : 'Just now',
        width: '62px',
        align: 'right',
        descendingFirst: true,
        value: rateOf,
        cell: (service) => rate(rateOf(service)),
      },
    ];
  }, [rates]);
  const { sorted, sort, setSort } = useSorted(services, columns, 'services');
  return (
    <section className="panel" aria-label="Services">
      <div className="panel-head">
        <h2>Services</h2>
      </div>
      <DataGrid
        label="Services"
        columns={columns}
        count={sorted.length}
        rowAt={(index) => sorted[index]}
        keyOf={({ service }) => service}
        sort={sort}
        onSort={setSort}
        onOpen={({ service }) => go({ recording: route.recording, view: 'messages', query: { source: service } })}
        empty="No service has published anything yet. Is the node running? ./kubus status shows its services."
      />
    </section>
  );
}
