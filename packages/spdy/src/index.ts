export { SpdySession } from './spdy-session.ts';
export type { SpdyStream } from './spdy-stream.ts';
