// Writes src/generated/ from the .proto files:
//   grpc/            codecs and service definitions, by buf with ts-proto (options: buf.gen.yaml)
//   cri.ts           the JSON form of CRI: types, schemas, method table
//   cri-codecs.ts    for each method, from the JSON form to bytes and back
// Works offline; the same input gives the same bytes.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { criCodecs, criJsonForm } from './json-form.mjs';

const root = new URL('..', import.meta.url);
const buf = createRequire(import.meta.url).resolve('@bufbuild/buf/bin/buf');

/** Runs buf in this package and returns what it printed. */
function runBuf(...args) {
  return execFileSync(process.execPath, [buf, ...args], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

runBuf('generate');
const descriptors = JSON.parse(runBuf('build', '--as-file-descriptor-set', '-o', '-#format=json'));
const cri = descriptors.file.find((file) => file.package === 'runtime.v1');

const generated = new URL('src/generated/', root);
mkdirSync(generated, { recursive: true });
writeFileSync(new URL('cri.ts', generated), criJsonForm(cri));
writeFileSync(new URL('cri-codecs.ts', generated), criCodecs(cri));
