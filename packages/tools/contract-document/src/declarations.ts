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
export type Deed = 'owns' | 'reads' | 'serves' | 'calls' | 'publishes' | 'hears';

/** The permission and duty of one service concerning one declared message. */
export interface Edge {
  readonly service: ServiceName;
  readonly deed: Deed;
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
  const listed = Object.entries<readonly AnyDeclaration[]>(lists).flatMap(([deed, all]) =>
    all.map((declaration) => ({ service, deed: deed as Deed, declaration })),
  );
  const common: Edge[] = [
    // Command line programs announce nothing, and keep no journal.
    ...(service === 'cli'
      ? []
      : ([
          { service, deed: 'owns', declaration: serviceInstance },
          { service, deed: 'publishes', declaration: instanceJournal },
        ] as const)),
    ...everyServiceReads.map((declaration) => ({ service, deed: 'reads', declaration }) as const),
    { service, deed: 'publishes', declaration: refusedMessage },
  ];
  const known = new Set(listed.map(({ deed, declaration }) => `${deed} ${declaration.area} ${declaration.name}`));
  return [
    ...listed,
    ...common.filter(({ deed, declaration: { area, name } }) => !known.has(`${deed} ${area} ${name}`)),
  ];
}
