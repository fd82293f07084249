import type { MapEdge, ServiceMap } from '@kubus/contracts/observatory';

export interface FoldedMap {
  readonly map: ServiceMap;
  /** Services that are left out: they published nothing, or nothing to another service that is shown. */
  readonly idle: readonly string[];
}

/** Announcements go from every service to every other one and would hide the rest. */
export function isAnnouncement({ type }: MapEdge): boolean {
  return type.startsWith('service.');
}

/**
 * The map without what is idle: the contract names readers that this node does not run, and messages that nobody sent.
 *
 * @param announcements whether announcements of instances count as messages between services.
 */
export function foldIdle({ services, edges }: ServiceMap, announcements: boolean): FoldedMap {
  const publishes = new Set(services.filter(({ messages }) => messages > 0).map(({ service }) => service));
  const used = linesOf(edges, announcements).filter(
    ({ from, to, messages }) => messages > 0 && publishes.has(from) && publishes.has(to),
  );
  const linked = new Set(used.flatMap(({ from, to }) => [from, to]));
  return {
    map: { services: services.filter(({ service }) => linked.has(service)), edges: used },
    idle: services.map(({ service }) => service).filter((service) => !linked.has(service)),
  };
}

/** The messages from one service to another one. */
export function linesOf(edges: readonly MapEdge[], announcements: boolean): MapEdge[] {
  return edges.filter((edge) => edge.from !== edge.to && (announcements || !isAnnouncement(edge)));
}
