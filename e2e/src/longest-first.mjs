/**
 * The longest files, longest first. They start first, so that all workers end at about the same time even if Jest has not
 * measured the files before.
 */
const LONGEST = [
  ...['plain-node', 'containers', 'containers-cluster', 'bad-input', 'up-down', 'experiment', 'causality', 'replay'],
  ...['stuck', 'volumes-kill', 'hub', 'streams', 'kill', 'foreign', 'cluster', 'scenarios'],
];

/** The order of the files: Jest's interface of a test sequencer. */
export default class LongestFirst {
  /** @param {readonly { path: string }[]} tests */
  sort(tests) {
    const place = ({ path }) => {
      const index = LONGEST.findIndex((name) => path.endsWith(`/${name}.test.ts`));
      return index < 0 ? LONGEST.length : index;
    };
    return [...tests].sort((one, other) => place(one) - place(other) || one.path.localeCompare(other.path));
  }

  /** Jest calls it with how long each file took. */
  cacheResults() {}
}
