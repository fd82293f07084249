import { cores as allCores } from './cores.ts';
import { type Cores, replayLife } from './replay-life.ts';
import { Recording, type StoredMessage } from './recording.ts';
import type { LifeReport } from './report.ts';

/** What of a recording is replayed; what is left out does not matter. */
export interface ReplayOptions {
  readonly service?: string | undefined;
  readonly instance?: string | undefined;
  /** The last sequence that counts. */
  readonly until?: number | undefined;
  /** Other code than the services' own. */
  readonly cores?: Cores | undefined;
}

/** Replays every life of every instance that kept a journal, one after another. */
export async function replay(
  messages: AsyncIterable<StoredMessage> | Iterable<StoredMessage>,
  { service, instance, until, cores = allCores }: ReplayOptions = {},
): Promise<LifeReport[]> {
  const recording = await Recording.read(messages, until);
  const reports: LifeReport[] = [];
  for (const life of recording.lives) {
    if (instance !== undefined && life.instance !== instance) continue;
    if (service !== undefined && life.instance.replace(/-\d+$/, '') !== service) continue;
    reports.push(await replayLife(recording, life, cores));
  }
  return reports;
}
