export { ObjectCache, type ObjectCacheOptions } from './object-cache.ts';
export { objectCache } from './service.ts';
