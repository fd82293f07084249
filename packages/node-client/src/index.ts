export { NodeClientError } from './node-client-error.ts';
export { NodeClient, type QueryParameters, type StreamClient, apiPath } from './node-client.ts';
export type { SpdyStream } from '@kubus/spdy';
export { type Connected, RemoteCommand, type TerminalSize, connectedQuery } from './remote-command.ts';
export { ForwardedPort } from './forwarded-port.ts';
