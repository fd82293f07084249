export { type AppOptions, createApp } from './app.ts';
export { sideOf } from './documents.ts';
export { FileRecordings } from './file-recordings.ts';
export { NodeRecordings, type NodeRecordingsOptions } from './node-recordings.ts';
export { type Recordings, RequestError } from './recordings.ts';
export { observatory } from './service.ts';
export { Threads } from './threads.ts';
