// Compiles the shim into a folder: node build-shim.mjs OUTDIR. Uses the compiler named in CC, else gcc.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const [outdir, ...more] = process.argv.slice(2);
if (outdir === undefined || more.length > 0) {
  console.error('usage: node build-shim.mjs OUTDIR');
  process.exit(2);
}

const source = join(import.meta.dirname, '../shim/kubus-cni.c');
const compiler = process.env.CC ?? 'gcc';
mkdirSync(outdir, { recursive: true });

// A runtime may be running the present shim: a file that is replaced by a rename is never "text file busy".
const unfinished = join(outdir, `.kubus-cni.${process.pid}`);
try {
  execFileSync(compiler, ['-O2', '-static', '-s', '-Wall', '-Wextra', '-Werror', '-o', unfinished, source], {
    stdio: 'inherit',
  });
  for (const name of ['loopback', 'kubus-cni']) {
    const copy = `${unfinished}.${name}`;
    copyFileSync(unfinished, copy);
    renameSync(copy, join(outdir, name));
  }
} catch (error) {
  console.error(`cannot build the shim with ${compiler}: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(unfinished, { force: true });
}
