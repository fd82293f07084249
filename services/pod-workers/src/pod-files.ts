import { logFolder } from '@kubus/container-config';
import type { PodRef } from '@kubus/contracts';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PodFiles } from './ports.ts';
import { createRunFiles } from './run-files.ts';

/** The pods' files on this machine. */
export function createPodFiles(options: { root: string; logs: string }): PodFiles {
  const folder = (pod: PodRef) => join(options.logs, logFolder(pod));
  return {
    ...createRunFiles(options),
    logFolder: folder,
    makeLogFolder: async (pod, container) => {
      await mkdir(join(folder(pod), container), { recursive: true, mode: 0o755 });
    },
    remove: async (pod) => {
      await rm(folder(pod), { recursive: true, force: true });
      await rm(join(options.root, 'pods', pod.uid), { recursive: true, force: true });
    },
  };
}
