// Writes to a store until it is killed, and says what is stored: `<key> <version>`. Arguments: the file, and the key in hexadecimal.
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { SealedObjects } from '../src/sealed-objects.ts';
import { SqliteStore } from '../src/sqlite-store.ts';

const [path = '', key = ''] = process.argv.slice(2);
const store = new SqliteStore(path, new SealedObjects(Buffer.from(key, 'hex')), 10);
const life = randomUUID();
for (let count = 0; ; count++) {
  const name = `${life}-${count % 5}`;
  const metadata = { name, uid: name, resourceVersion: '', creationTimestamp: '' };
  const stored = store.put('configmaps', name, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { count } });
  writeSync(1, `${name} ${stored.metadata.resourceVersion}\n`);
}
