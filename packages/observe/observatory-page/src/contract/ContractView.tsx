import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import { useContract } from '../api/documents.ts';
import { counted } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { KindMark } from '../theme/KindMark.tsx';
import { formatRoute } from '../route/route.ts';
import { goQuery, useRoute } from '../route/use-route.ts';
import { Reading } from '../shell/Reading.tsx';
import { ServiceName } from '../shell/ServiceName.tsx';
import { SchemaTree } from './SchemaTree.tsx';
import { type Contract, type ContractType, readContract } from './contract-types.ts';
import './contract.css';

/** Every type of message: its subject, publishers, readers and schema. */
export function ContractView(): ReactNode {
  const contract = useContract();
  return (
    <div className="story">
      <h1 className="visually-hidden">Contract</h1>
      <Reading of={contract} what="the contract">
        {(document) => <ContractOf document={document} />}
      </Reading>
    </div>
  );
}

const columns: readonly Column<ContractType>[] = [
  {
    id: 'type',
    title: 'Type',
    width: 'minmax(200px, 1fr)',
    cell: ({ type, kind, about }) => (
      <span title={about}>
        {kind === 'fact' || kind === 'cmd' || kind === 'event' ? <KindMark kind={kind} /> : null} {type}
      </span>
    ),
  },
];

function ContractOf({ document }: { readonly document: unknown }): ReactNode {
  const route = useRoute();
  const contract = useMemo(() => readContract(document), [document]);
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text).toLowerCase();
  const shown = useMemo(
    () =>
      contract.types.filter(({ type, about, senders }) =>
        `${type} ${about} ${senders.join(' ')}`.toLowerCase().includes(wanted),
      ),
    [contract, wanted],
  );
  const chosen = contract.types.find(({ type }) => type === route.query['type']);
  return (
    <div className="contract">
      <section className="panel" aria-label="Types">
        <div className="panel-head">
          <input
            type="search"
            data-filter=""
            aria-label="Filter the types"
            placeholder="Filter by type, text, service"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
          <span className="dim" role="status">
            {counted(shown.length, 'type')}
          </span>
        </div>
        <DataGrid
          label="Types of messages"
          columns={columns}
          count={shown.length}
          rowAt={(index) => shown[index]}
          keyOf={({ type }) => type}
          selected={chosen?.type}
          onOpen={({ type }) => goQuery(route, { type })}
          empty="No type matches the filter. Clear it to see all: a type has the form area.kind.name."
        />
      </section>
      <section className="contract-type" aria-label="The chosen type" tabIndex={0}>
        {chosen === undefined ? (
          <Protocol contract={contract} />
        ) : (
          <TypeOf key={chosen.type} type={chosen} contract={contract} />
        )}
      </section>
    </div>
  );
}

function Protocol({ contract }: { readonly contract: Contract }): ReactNode {
  return (
    <>
      <h2>
        {contract.title} <span className="dim">{contract.version}</span>
      </h2>
      <p>Choose a type to see its fields. Rules that the schema cannot express:</p>
      <pre className="protocol">{contract.protocol}</pre>
    </>
  );
}

function TypeOf({ type, contract }: { readonly type: ContractType; readonly contract: Contract }): ReactNode {
  const route = useRoute();
  const messages = formatRoute({ recording: route.recording, view: 'messages', query: { type: type.type } });
  return (
    <>
      <h2>{type.type}</h2>
      <p>{type.about}</p>
      <dl className="facts">
        <div>
          <dt>Subject</dt>
          <dd>
            <code>{type.subject}</code>
          </dd>
        </div>
        <Services title={type.kind === 'cmd' ? 'Sent by' : 'Published by'} services={type.senders} />
        <Services title={type.kind === 'cmd' ? 'Served by' : 'Read by'} services={type.receivers} />
      </dl>
      <p>
        <a href={messages}>Its messages in this recording</a>{' '}
        <button type="button" onClick={() => goQuery(route, { type: undefined })}>
          Rules of the protocol
        </button>
      </p>
      <h3>Payload</h3>
      <div className="json">
        <SchemaTree schema={type.payload} resolve={contract.resolve} />
      </div>
      {type.result === undefined ? null : (
        <>
          <h3>Result</h3>
          <div className="json">
            <SchemaTree schema={type.result} resolve={contract.resolve} />
          </div>
        </>
      )}
    </>
  );
}

function Services({ title, services }: { readonly title: string; readonly services: readonly string[] }): ReactNode {
  return (
    <div>
      <dt>{title}</dt>
      <dd className="legend">
        {services.length === 0
          ? 'no service'
          : services.map((service) => <ServiceName key={service} service={service} />)}
      </dd>
    </div>
  );
}
