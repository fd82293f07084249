export { createApp } from './app.ts';
export { sideOf } from './documents.ts';
export { FileRecordings } from './file-recordings.ts';
export { NodeRecordings } from './node-recordings.ts';
export { observatory } from './service.ts';
export { Threads } from './threads.ts';
