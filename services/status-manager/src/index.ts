export { statusManager } from './service.ts';
