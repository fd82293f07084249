import type { RecordingReader } from '@kubus/recording';
import { cores as allCores } from './cores.ts';
import { FileRecording } from './file-recording.ts';
import { type Cores, replayLife } from './replay-life.ts';
import { MemoryRecording, type Recording, type StoredMessage } from './recording.ts';
import type { LifeReport } from './report.ts';

/** Which part of a recording is replayed. Default: all of it. */
export interface ReplayOptions {
  readonly service?: string | undefined;
  readonly instance?: string | undefined;
  /** Ignore messages with a greater sequence number. Default: none. */
  readonly until?: number | undefined;
  /** The code to replay. Default: the services' own. */
  readonly cores?: Cores | undefined;
}

/** Replays every life of every instance that has a journal, one after the other. */
export async function replay(
  messages: AsyncIterable<StoredMessage> | Iterable<StoredMessage>,
  options: ReplayOptions = {},
): Promise<LifeReport[]> {
  return replayLives(await MemoryRecording.read(messages, options.until), options);
}

/** The same for a recording file, of which only a small part is in memory at any time. */
export async function replayFile(reader: RecordingReader, options: ReplayOptions = {}): Promise<LifeReport[]> {
  return replayLives(new FileRecording(reader, options.until), options);
}

async function replayLives(
  recording: Recording,
  { service, instance, cores = allCores }: ReplayOptions,
): Promise<LifeReport[]> {
  const reports: LifeReport[] = [];
  for (const life of recording.lives) {
    if (instance !== undefined && life.instance !== instance) continue;
    if (service !== undefined && life.instance.replace(/-\d+$/, '') !== service) continue;
    reports.push(await replayLife(recording, life, cores));
  }
  return reports;
}
