import type { CpuOwner, TopologyClaim, TopologyDevice, TopologyDocument } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { counted } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { go, useRoute } from '../route/use-route.ts';
import { ownerMarks } from './cpu-marks.ts';

type Row<T> = T & { readonly key: string; readonly uid?: string };

interface Props<T> {
  readonly title: string;
  readonly what: string;
  readonly columns: readonly Column<Row<T>>[];
  readonly rows: readonly Row<T>[];
}

/** A list whose rows open the timeline of the pod that has something. */
function Owners<T>({ title, what, columns, rows }: Props<T>): ReactNode {
  const { recording } = useRoute();
  return (
    <section className="panel topology-list" aria-label={title}>
      <div className="panel-head">
        <h2>{title}</h2>
        <span className="dim">{counted(rows.length, what)}</span>
      </div>
      <DataGrid
        label={title}
        columns={columns}
        count={rows.length}
        rowAt={(index) => rows[index]}
        keyOf={({ key }) => key}
        onOpen={({ uid }) => {
          if (uid !== undefined) go({ recording, view: 'pods', pod: uid, query: {} });
        }}
        empty="Nothing."
      />
    </section>
  );
}

const cpuColumns: readonly Column<Row<CpuOwner & { readonly mark: string }>>[] = [
  { id: 'mark', title: 'Mark', width: '52px', cell: ({ mark }) => mark },
  { id: 'cpus', title: 'CPUs', width: 'minmax(80px, 200px)', cell: ({ cpus }) => cpus },
  { id: 'nodes', title: 'Node', width: '60px', cell: ({ nodes }) => nodes },
  { id: 'who', title: 'Who has them', width: 'minmax(200px, 1fr)', cell: ({ who }) => who },
];

const deviceColumns: readonly Column<Row<TopologyDevice>>[] = [
  { id: 'resource', title: 'Device', width: 'minmax(120px, 240px)', cell: ({ resource }) => resource },
  { id: 'id', title: 'ID', width: 'minmax(80px, 200px)', cell: ({ id }) => id },
  { id: 'nodes', title: 'Node', width: '60px', cell: ({ nodes }) => nodes },
  { id: 'health', title: 'Health', width: '90px', cell: ({ healthy }) => (healthy ? 'healthy' : 'unhealthy') },
  { id: 'who', title: 'Who has it', width: 'minmax(150px, 1fr)', cell: ({ who }) => (who === '' ? 'free' : who) },
];

const claimColumns: readonly Column<Row<TopologyClaim>>[] = [
  { id: 'claim', title: 'Claim', width: 'minmax(100px, 200px)', cell: ({ claim }) => claim },
  { id: 'driver', title: 'Driver', width: 'minmax(100px, 200px)', cell: ({ driver }) => driver },
  { id: 'device', title: 'Device', width: 'minmax(100px, 200px)', cell: ({ device }) => device },
  { id: 'health', title: 'Health', width: 'minmax(90px, 200px)', cell: ({ health }) => health },
  { id: 'who', title: 'Who uses it', width: 'minmax(150px, 1fr)', cell: ({ who }) => who },
];

/** Who has CPUs, devices of plugins, and devices of claims. */
export function TopologyTables({ document }: { readonly document: TopologyDocument }): ReactNode {
  const { cpus, devices, claims } = document;
  const marks = ownerMarks(cpus);
  const cpuRows = cpus.map((one, index) => ({ ...one, mark: marks[index]?.mark ?? '', key: String(index) }));
  return (
    <>
      <Owners title="Who has the CPUs" what="owner" columns={cpuColumns} rows={cpuRows} />
      {devices.length === 0 ? null : (
        <Owners title="Devices" what="device" columns={deviceColumns} rows={devices.map(keyed)} />
      )}
      {claims.length === 0 ? null : (
        <Owners title="Devices of claims" what="device" columns={claimColumns} rows={claims.map(keyed)} />
      )}
    </>
  );
}

function keyed<T>(row: T, index: number): T & { key: string } {
  return { ...row, key: String(index) };
}
