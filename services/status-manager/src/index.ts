export { apiPort } from './api-port.ts';
export { ClaimWriter } from './claim-writer.ts';
export { statusManagerCore } from './core.ts';
export { EventWriter } from './event-writer.ts';
export { statusManager } from './service.ts';
export { StatusManager } from './status-manager.ts';
