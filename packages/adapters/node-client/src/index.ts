export { NodeClientError } from './node-client-error.ts';
export { NodeClient, type QueryParameters, type StreamClient, StreamingServer, apiPath } from './node-client.ts';
export { RemoteCommand, connectedQuery } from './remote-command.ts';
export { ForwardedPort } from './forwarded-port.ts';
export { SpdySession } from './spdy/spdy-session.ts';
export type { SpdyStream } from './spdy/spdy-stream.ts';
