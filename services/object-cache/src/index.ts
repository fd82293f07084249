export { ObjectCache } from './object-cache.ts';
export { objectCache } from './service.ts';
