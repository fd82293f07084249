// Finds files that import each other while they are loaded: a part of `pnpm lint`. Type-only and dynamic imports do not
// count.
import { globSync } from 'node:fs';
import { build } from 'esbuild';

/**
 * @param {string} root the workspace's folder
 * @returns {Promise<string[]>} one line for each cycle: `a.ts -> b.ts -> a.ts`
 * @throws {Error} when an import cannot be resolved; the message names it
 */
export async function importCycles(root) {
  const files = globSync(
    '{proto,e2e,bench,charts/render,examples/dra,packages/*/*,services/*}/{src,test}/**/*.{ts,tsx}',
    {
      cwd: root,
    },
  );
  const { metafile } = await build({
    absWorkingDir: root,
    stdin: {
      contents: files.map((file) => `import './${file}';`).join('\n'),
      resolveDir: root,
      sourcefile: 'all files',
    },
    outdir: 'none',
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    loader: { '.css': 'empty' },
    plugins: [ofOthers],
    logLevel: 'silent',
  });
  return cyclesOf(
    new Map(
      Object.entries(metafile.inputs).map(([file, { imports }]) => [
        file,
        imports.filter(({ kind, external }) => kind !== 'dynamic-import' && external !== true).map(({ path }) => path),
      ]),
    ),
  );
}

/** Leaves third-party packages out, but keeps the workspace's own. */
const ofOthers = {
  name: 'of-others',
  setup(context) {
    context.onResolve({ filter: /^[^.]/ }, ({ path }) =>
      path.startsWith('@kubus/') ? undefined : { path, external: true },
    );
  },
};

/** Finds one cycle through each file that is part of one, and returns each cycle once. */
function cyclesOf(graph) {
  const cycles = [];
  const done = new Set();
  const path = [];
  const visit = (file) => {
    if (done.has(file)) return;
    const at = path.indexOf(file);
    if (at >= 0) {
      cycles.push([...path.slice(at), file].join(' -> '));
      return;
    }
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return cycles;
}
