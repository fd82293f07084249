// Jest's sequencer for the run of all packages: the longest files start first, so that no worker waits for the last one.
import { relative, resolve } from 'node:path';
import { readRecord, secondsOf } from './test-record.mjs';

const root = resolve(import.meta.dirname, '..');

/** Used in a clone in which no test has run yet, the longest first. In other clones the recorded seconds are used. */
export const longest = [
  'packages/adapters/service-kit/test/run-service.test.ts',
  'packages/adapters/cni/test/plugin-host.test.ts',
  'packages/adapters/node-plugins/test/csi/driver.test.ts',
  'packages/bus/bus-nats/test/permissions.test.ts',
  'services/object-cache/test/object-cache.test.ts',
  'services/node-api/test/security.test.ts',
  'packages/tools/launcher/test/hub.test.ts',
  'packages/tools/launcher/test/nats-folder.test.ts',
  'services/object-cache/test/claims.test.ts',
  'packages/testing/simulation/test/bus-commands.test.ts',
  'packages/testing/simulation/test/mutations.test.ts',
  'services/object-cache/test/tokens.test.ts',
  'services/config-sources/test/api-server.test.ts',
  'services/volume-manager/test/kill.test.ts',
  'services/cni-bridge/test/real-chain.test.ts',
  'packages/adapters/cni/test/shim-runs.test.ts',
  'services/cri-bridge/test/containerd.test.ts',
  'services/node-api/test/pod-resources.test.ts',
  'services/node-api/test/streams.test.ts',
  'packages/tools/replay/test/schedules.test.ts',
];

/**
 * The order in which files start: those without a known duration before those that are known to be short.
 *
 * @param {readonly string[]} files paths from the root
 * @param {Readonly<Record<string, number>>} seconds their durations in the last run
 * @returns {string[]}
 */
export function inOrder(files, seconds) {
  const weight = (file) => seconds[file] ?? (longest.includes(file) ? 1_000 - longest.indexOf(file) : 5);
  return [...files].sort((a, b) => weight(b) - weight(a) || (a < b ? -1 : 1));
}

export default class LongestFirst {
  sort(tests) {
    const byName = new Map(tests.map((test) => [relative(root, test.path), test]));
    return inOrder([...byName.keys()], secondsOf(readRecord(root))).map((name) => byName.get(name));
  }

  /** The record is written by scripts/test.mjs. */
  cacheResults() {}
}
