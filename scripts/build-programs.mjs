// Bundles the services and tools whose sources have changed: a part of `pnpm build`.
import { basename, resolve } from 'node:path';
import { bundlePrograms } from './bundle.mjs';
import { programs } from './programs.mjs';

const changed = await bundlePrograms(resolve(import.meta.dirname, '..'), programs).catch((error) => {
  // esbuild has already written the errors.
  if (!('errors' in error)) console.error(error.message);
  process.exit(1);
});
const names = changed.map((folder) => basename(folder)).join(', ');
if (changed.length === 0) console.log('no program has changed');
else console.log(changed.length === Object.keys(programs).length ? 'all programs are built' : `built ${names}`);
