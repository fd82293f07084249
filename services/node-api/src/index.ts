export { NodeApi, type NodeApiContext, type NodeApiPorts, type ServerConfig } from './node-api.ts';
export { nodeApi } from './service.ts';
