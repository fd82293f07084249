// What nothing uses is found by knip: files, exports and dependencies, as a part of `pnpm lint`. Packages are private, so
// what one exports has to be imported by another package or by a test.
import { programs } from './scripts/programs.mjs';

/** Files that are started by a path, and so imported by none; those of Jest and Vite are known to knip. */
const programsOf = {
  ...programs,
  e2e: ['src/{record-kubectl,replay-alone}.ts'],
  'examples/dra': ['driver.ts'],
  'packages/adapters/cni': ['scripts/*.mjs'],
  'packages/adapters/cri': ['scripts/*.mjs'],
  'packages/adapters/kube-server': ['test/store-writer.ts'],
  'packages/adapters/service-kit': [
    'test/{ending-process,journal-writer,log-writer,probe-service,record-writer,slot-holder}.ts',
  ],
  'packages/testing/kube-fixture': ['test/server-process.ts'],
  'packages/observe/recording': ['test/endless-writer.ts'],
  'packages/testing/harness': ['src/*-process.ts', 'src/tunnel-inside.ts', 'test/killed-test.ts'],
  'packages/testing/fuzz': ['src/{main,worker}.ts', 'test/planted-process.ts'],
  'packages/testing/systemd-fixture': ['src/*-process.ts'],
  'packages/tools/contract-document': ['src/keep.ts'],
  'packages/tools/launcher': [...programs['packages/tools/launcher'], 'scripts/*.mjs', 'test/machine-servers.mjs'],
  // The programs of threads are found by the URLs that start them.
  'services/observatory': ['src/main.ts'],
  'services/config-sources': ['src/main.ts'],
  'packages/tools/service-host': ['src/main.ts'],
};

export default {
  workspaces: {
    // Tests name scripts by their path, and what is generated is no source.
    '.': { entry: ['scripts/*.{mjs,cjs}'], includeEntryExports: false },
    proto: { entry: ['src/{json-form,method-codec,cri-grpc}.ts'], includeEntryExports: false },
    ...Object.fromEntries(Object.entries(programsOf).map(([folder, entry]) => [folder, { entry }])),
  },
  includeEntryExports: true,
  // Tests use the machine's.
  exclude: ['binaries'],
  // Named by generated code, and by paths inside of them.
  ignoreDependencies: ['@asyncapi/specs', '@bufbuild/buf', '@grpc/grpc-js'],
};
