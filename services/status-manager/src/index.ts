export { ClaimWriter, type ClaimWriterOptions } from './claim-writer.ts';
export { EventWriter, type EventWriterOptions } from './event-writer.ts';
export { statusManager } from './service.ts';
export { StatusManager, type StatusManagerOptions } from './status-manager.ts';
