import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeManifest, staticPod } from '../src/index.ts';

/** UIDs of static pods of the reference kubelet v1.36, from its own decoder, defaults and hash. */
const reference = JSON.parse(readFileSync(join(import.meta.dirname, 'reference-uids.json'), 'utf8')) as {
  node: string;
  path: string;
  pods: { name: string; uid: string; manifest: object }[];
  /** UIDs of a pod with this limit and this volume size. */
  quantities: [text: string | number, uid: string][];
  url: { path: string; uid: string; manifest: object };
};
const { node, path } = reference;
const seenAt = '2026-01-02T03:04:05Z';

function uidOf(
  manifest: object,
  from = { source: 'file', path } as { source: 'file' | 'http'; path: string },
): unknown {
  const { pods, errors } = decodeManifest(JSON.stringify(manifest));
  const uids = pods.map(({ pod }) => staticPod(pod, { ...from, node, seenAt }).metadata.uid);
  return uids[0] ?? errors;
}

test.each(reference.pods)('the UID of $name equals the reference’s', ({ manifest, uid }) => {
  expect(uidOf(manifest)).toBe(uid);
});

test.each(reference.quantities)('the UID of a pod with the quantity %j equals the reference’s', (amount, uid) => {
  const containers = [{ name: 'c', image: 'i', resources: { limits: { 'x.y/z': amount } } }];
  const volumes = [{ name: 'e', emptyDir: { sizeLimit: amount } }];
  const head = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'q' } };
  expect(uidOf({ ...head, spec: { containers, volumes } })).toBe(uid);
});

test('the UID of a pod from a URL equals the reference’s', () => {
  const { uid, manifest, path } = reference.url;
  expect(uidOf(manifest, { source: 'http', path })).toBe(uid);
});
