export { nodeApi } from './service.ts';
