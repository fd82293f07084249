export { type CriClient, type CriClientOptions, connectCri } from './client.ts';
export { type CriConnection } from './connection-state.ts';
export { type ContainerEventsListener, type EventsState } from './container-events.ts';
export { type ContainerHint } from './event-sources.ts';
export { type CriCode, CriError } from './errors.ts';
export { type RelayOptions } from './relay.ts';
export { handlersOf } from './runtime-handlers.ts';
export { type CriSituation, reservedFor, situationOf } from './situations.ts';
