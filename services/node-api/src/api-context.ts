import type { NodeConfig, ServiceContext } from '@kubus/service-kit';

/** The configuration of the node's HTTP servers. */
export type ServerConfig = NonNullable<NodeConfig['server']>;

/** What the service passes to its servers. */
export type NodeApiContext = Pick<ServiceContext, 'config' | 'bus' | 'clock' | 'ids' | 'logger' | 'metrics'>;
