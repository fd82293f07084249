import {
  type AnyDeclaration,
  type ServiceContract,
  type ServiceName,
  everyServiceReads,
  faultContracts,
  instanceJournal,
  refusedMessage,
  serviceInstance,
} from '@kubus/contracts';

/** The kind of a service's operation on a declared message. */
export type Use = 'owns' | 'reads' | 'serves' | 'calls' | 'publishes' | 'hears';

/** The permission and duty of one service concerning one declared message. */
export interface Edge {
  readonly service: ServiceName;
  readonly use: Use;
  readonly declaration: AnyDeclaration;
}

/**
 * Every edge of the service graph, including those that all services have without listing them, and those that only a node with
 * faults has.
 */
export const edges: readonly Edge[] = Object.entries(faultContracts).flatMap(([name, contract]) =>
  edgesOf(name as ServiceName, contract),
);

/** Every declared message, each once. */
export const declarations: readonly AnyDeclaration[] = [...new Set(edges.map(({ declaration }) => declaration))];

function edgesOf(service: ServiceName, contract: ServiceContract): Edge[] {
  const { about: _about, ...lists } = contract;
  const listed = Object.entries<readonly AnyDeclaration[]>(lists).flatMap(([use, all]) =>
    all.map((declaration) => ({ service, use: use as Use, declaration })),
  );
  const common: Edge[] = [
    // Command line programs announce nothing, and keep no journal.
    ...(service === 'cli'
      ? []
      : ([
          { service, use: 'owns', declaration: serviceInstance },
          { service, use: 'publishes', declaration: instanceJournal },
        ] as const)),
    ...everyServiceReads.map((declaration) => ({ service, use: 'reads', declaration }) as const),
    { service, use: 'publishes', declaration: refusedMessage },
  ];
  const known = new Set(listed.map(({ use, declaration }) => `${use} ${declaration.area} ${declaration.name}`));
  return [...listed, ...common.filter(({ use, declaration: { area, name } }) => !known.has(`${use} ${area} ${name}`))];
}
