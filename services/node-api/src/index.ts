export type { ServerConfig } from './api-context.ts';
export { NodeApi } from './node-api.ts';
export { nodeApi } from './service.ts';
