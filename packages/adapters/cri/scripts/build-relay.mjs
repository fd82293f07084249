// Builds the holding relay: node scripts/build-relay.mjs OUT. Static, so that it runs on any Linux of the same machine
// type. Needs a C compiler (gcc, or what CC names).
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const [out] = process.argv.slice(2);
if (out === undefined) {
  console.error('usage: node build-relay.mjs OUT');
  process.exit(2);
}
mkdirSync(dirname(out), { recursive: true });
const source = fileURLToPath(new URL('../relay/relay.c', import.meta.url));
const compiler = process.env.CC ?? 'gcc';
try {
  execFileSync(compiler, ['-static', '-O2', '-Wall', '-Wextra', '-Werror', '-o', out, source], { stdio: 'inherit' });
} catch (error) {
  console.error(
    error.code === 'ENOENT'
      ? `build-relay: compiler "${compiler}" not found; install gcc or name another one in CC`
      : `build-relay: ${error.message}`,
  );
  process.exit(1);
}
