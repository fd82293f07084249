// The entry points of the bundles, by the folder of their package: its programs, and those of the threads that they start.
import { readdirSync } from 'node:fs';
import { relative, resolve } from 'node:path';

const services = readdirSync(resolve(import.meta.dirname, '../services'));

/** The program of the threads that answer questions about recordings. */
const recordingThread = 'services/observatory/src/recording-thread.ts';

/** The program of the thread that parses long manifests. */
const manifestThread = 'services/config-sources/src/manifest-thread.ts';
const withManifestThread = (folder) => ['src/main.ts', relative(folder, manifestThread)];

export const programs = {
  ...Object.fromEntries(services.map((name) => [`services/${name}`, ['src/main.ts']])),
  'services/observatory': ['src/main.ts', relative('services/observatory', recordingThread)],
  'services/config-sources': withManifestThread('services/config-sources'),
  'packages/tools/cli': [...withManifestThread('packages/tools/cli'), relative('packages/tools/cli', recordingThread)],
  'packages/tools/launcher': ['main', 'kubelet', 'install', 'uninstall', 'remove-nodes', 'container-launcher'].map(
    (name) => `src/${name}.ts`,
  ),
  'packages/tools/service-host': withManifestThread('packages/tools/service-host'),
};

/**
 * The programs of a restart: what is started, and the command line, which asks for it.
 *
 * @param {string} restarted what `kubus restart` names: a service, an instance, or `services` (`kubus up --placement hosted`), or `services-NAME` of a group
 * @returns {string[]} the folders of their packages; all programs when the name is none of these
 */
export function programsOf(restarted) {
  const service = restarted.replace(/-\d+$/, '');
  const folder = /^services(-|$)/.test(service) ? 'packages/tools/service-host' : `services/${service}`;
  return folder in programs ? [folder, 'packages/tools/cli'] : Object.keys(programs);
}
