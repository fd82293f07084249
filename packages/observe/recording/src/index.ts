export { exportRecording, importRecording, sealRecording } from './exchange.ts';
export { RecordingError, isDiskFull } from './recording-error.ts';
export { type MessageFilter, RecordingReader } from './recording-reader.ts';
export { type BrokerLife, RecordingWriter } from './recording-writer.ts';
export type { Meta } from './schema.ts';
