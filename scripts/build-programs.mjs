// Bundles the services and tools whose sources have changed: all of them, as a part of `pnpm build`, or those of a restart
// (`kubus restart`), which are named by what is restarted: node scripts/build-programs.mjs [SERVICE]
import { basename, resolve } from 'node:path';
import { bundlePrograms } from './bundle.mjs';
import { programs, programsOf } from './programs.mjs';

const [restarted] = process.argv.slice(2);
const all = Object.keys(programs);
const wanted = restarted === undefined ? all : programsOf(restarted);
const root = resolve(import.meta.dirname, '..');
// What `kubus up` shows of the build: scripts/progress.sh reads it.
const onBundled = (folder, count, of) => console.log(`package ${count} of ${of}: ${folder}`);
const { bundled, left } = await bundlePrograms(root, programs, wanted, onBundled).catch((error) => {
  // esbuild has already written the errors.
  if (!('errors' in error)) console.error(error.message);
  process.exit(1);
});
const names = (folders) => folders.map((folder) => basename(folder)).join(', ');
if (bundled.length === 0) console.log('no program has changed');
else console.log(bundled.length === all.length ? 'all programs are built' : `built ${names(bundled)}`);
const services = left.filter((folder) => folder.startsWith('services/'));
if (services.length > 0) console.log(`not restarted, but changed as well: ${names(services)}`);
