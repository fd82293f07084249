// The entry points of the bundles, by the folder of their package: its programs, and those of the threads that they start.
import { readdirSync } from 'node:fs';
import { relative, resolve } from 'node:path';

const services = readdirSync(resolve(import.meta.dirname, '../services'));

/** The program of the threads that answer questions about recordings. */
const recordingThread = 'services/observatory/src/recording-thread.ts';

export const programs = {
  ...Object.fromEntries(services.map((name) => [`services/${name}`, ['src/main.ts']])),
  'services/observatory': ['src/main.ts', relative('services/observatory', recordingThread)],
  'packages/tools/cli': ['src/main.ts', relative('packages/tools/cli', recordingThread)],
  'packages/tools/launcher': ['main', 'kubelet', 'install', 'uninstall', 'container-launcher'].map(
    (name) => `src/${name}.ts`,
  ),
  'packages/tools/service-host': ['src/main.ts'],
};
