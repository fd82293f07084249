export { type ApiPort, apiPort } from './api-port.ts';
export { ClaimWriter, type ClaimWriterOptions } from './claim-writer.ts';
export { statusManagerCore } from './core.ts';
export { EventWriter, type EventWriterOptions } from './event-writer.ts';
export { statusManager } from './service.ts';
export { StatusManager, type StatusManagerOptions } from './status-manager.ts';
