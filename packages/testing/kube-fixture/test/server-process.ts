// An API server with its objects in a folder, until it is killed. Arguments: the folder. Prints its port; writes the folder's admin.kubeconfig.
import { writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import {
  ADMIN,
  KubeServer,
  SealedObjects,
  SqliteStore,
  createNamespaces,
  kubeconfigText,
  openAuthority,
  openObjectsKey,
  openTokenKey,
} from '@kubus/kube-server';

const ADDRESS = '127.0.0.1';
const [folder = ''] = process.argv.slice(2);
const authority = await openAuthority(folder);
const store = new SqliteStore(join(folder, 'objects.db'), new SealedObjects(await openObjectsKey(folder)));
const server = new KubeServer({
  ...{ store, authority },
  serving: await authority.issue({ commonName: 'kube-apiserver', addresses: [ADDRESS] }, 'server'),
  client: await authority.issue({ commonName: 'client' }, 'client'),
  tokenKey: await openTokenKey(folder),
  authorize: () => undefined,
  now: () => Date.now(),
});
createNamespaces(server.registry);
const port = await server.listen(ADDRESS, 0);
const cluster = { url: `https://${ADDRESS}:${port}`, authority: authority.certificate };
writeFileSync(join(folder, 'admin.kubeconfig'), kubeconfigText(cluster, { token: server.identities.token(ADMIN) }));
writeSync(1, `${port}\n`);
