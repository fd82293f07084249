export { objectCache } from './service.ts';
