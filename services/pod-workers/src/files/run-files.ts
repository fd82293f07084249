import { logFolder } from '@kubus/pod';
import { attemptOfLog } from '@kubus/container-log';
import type { PodRef } from '@kubus/contracts';
import { createRegular, namesIn, readRegular } from '@kubus/filesystem';
import { FILE_BYTES } from '@kubus/pod-status';
import { ignoring } from '@kubus/ports';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { unlinkLog } from '../logs/log-links.ts';
import type { RunFiles } from '../ports.ts';

/**
 * How many bytes at the end of a log are read. The runtime cuts lines into pieces of at most 16 KiB; in addition to a
 * whole one, there is room for more short lines than a termination message shows.
 */
const LOG_END_BYTES = 32 * 1024;

/** The files that the runs of containers leave on this machine: their logs and termination messages. */
export function createRunFiles(options: { root: string; logs: string; logLinks?: string | undefined }): RunFiles {
  const logs = (pod: PodRef) => join(options.logs, logFolder(pod));
  const messages = (pod: PodRef, container: string) => join(options.root, 'pods', pod.uid, 'containers', container);
  // Eight hexadecimal digits, as in the reference; there they are random.
  const message = (pod: PodRef, container: string, attempt: number) =>
    join(messages(pod, container), attempt.toString(16).padStart(8, '0'));
  return {
    logIndexes: async (pod) => {
      const newest = new Map<string, number>();
      for (const container of await namesIn(logs(pod))) {
        const attempts = (await namesIn(join(logs(pod), container)))
          .map(attemptOfLog)
          .filter((one) => one !== undefined);
        if (attempts.length > 0) newest.set(container, Math.max(...attempts));
      }
      return newest;
    },
    readLogEnd: (path) => readEnd(path, LOG_END_BYTES),
    makeTerminationLog: async (pod, container, attempt) => {
      await mkdir(messages(pod, container), { recursive: true, mode: 0o750 });
      const path = message(pod, container, attempt);
      // Writable for every user that the container may run as.
      const file = await ignoring('EEXIST', createRegular(path, 0o666));
      await file?.close();
      return path;
    },
    readTerminationLog: (pod, { name, attempt, terminationLog }) => {
      const isOwn = terminationLog !== undefined && dirname(terminationLog) === messages(pod, name);
      return readEnd(isOwn ? terminationLog : message(pod, name, attempt), FILE_BYTES);
    },
    removeRun: async (pod, { name: container, attempt, id }) => {
      await rm(message(pod, container, attempt), { force: true });
      const folder = join(logs(pod), container);
      if (options.logLinks !== undefined) await unlinkLog(options.logLinks, { pod, container, id });
      const files = (await namesIn(folder)).map((name) => ({ name, attempt: attemptOfLog(name) }));
      if (files.every((file) => (file.attempt ?? 0) <= attempt)) return;
      // Rotated files of the same run have more after `.log`.
      const own = files.filter((file) => file.attempt === attempt);
      for (const { name } of own) await rm(join(folder, name), { force: true });
    },
  };
}

/** The last bytes of a file that a container could write: never of something that it may have put in its place. */
async function readEnd(path: string, bytes: number): Promise<string | undefined> {
  return (await readRegular(path, { limit: bytes, end: 'last' }))?.toString('utf8');
}
