export { nodeAgent } from './service.ts';
