// Compiles the shim into a folder: node build-shim.mjs OUTDIR. Uses the compiler named in CC, else gcc.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { installShim } from '../src/shim-install.ts';

const [outdir, ...more] = process.argv.slice(2);
if (outdir === undefined || more.length > 0) {
  console.error('usage: node build-shim.mjs OUTDIR');
  process.exit(2);
}

const source = join(import.meta.dirname, '../shim/kubus-cni.c');
const compiler = process.env.CC ?? 'gcc';
mkdirSync(outdir, { recursive: true });

const compiled = join(outdir, `.compiled.${process.pid}`);
try {
  execFileSync(compiler, ['-O2', '-static', '-s', '-Wall', '-Wextra', '-Werror', '-o', compiled, source], {
    stdio: 'inherit',
  });
  await installShim(compiled, outdir);
} catch (error) {
  console.error(`cannot build the shim with ${compiler}: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(compiled, { force: true });
}
