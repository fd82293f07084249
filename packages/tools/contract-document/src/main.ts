// Writes the published contract into a folder: node src/main.ts FOLDER
//
//   asyncapi.json          everything in one document
//   schemas/<name>.json    each payload's JSON Schema as a file of its own, for validators of other languages
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asyncApiDocument, jsonSchemas } from './index.ts';

const [folder, ...more] = process.argv.slice(2);
if (folder === undefined || more.length > 0) {
  console.error('usage: node main.ts FOLDER');
  process.exit(2);
}

const workspace = JSON.parse(await readFile(new URL('../../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const protocol = await readFile(new URL('protocol.md', import.meta.url), 'utf8');
const schemas = join(folder, 'schemas');
await rm(schemas, { recursive: true, force: true });
await mkdir(schemas, { recursive: true });
await writeDocument(join(folder, 'asyncapi.json'), asyncApiDocument(workspace.version, protocol));
for (const [name, schema] of Object.entries(jsonSchemas((other) => `${other}.json`))) {
  const $schema = 'http://json-schema.org/draft-07/schema#';
  await writeDocument(join(schemas, `${name}.json`), { $schema, $id: `${name}.json`, ...schema });
}
console.log(`the contract is in ${resolve(folder)}`);

async function writeDocument(path: string, document: object): Promise<void> {
  await writeFile(path, `${JSON.stringify(document, undefined, 2)}\n`);
}
