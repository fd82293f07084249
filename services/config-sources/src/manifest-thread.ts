import { readManifest } from '@kubus/pod-source';
import { toError } from '@kubus/ports';
import { parentPort } from 'node:worker_threads';
import type { ManifestText, ParserReply } from './manifest-parser.ts';

/** The program of the thread that parses long manifests, one after another. */
parentPort?.on('message', (manifest: ManifestText) => {
  parentPort?.postMessage(replyTo(manifest));
});

function replyTo(manifest: ManifestText): ParserReply {
  try {
    return { manifest: readManifest(manifest) };
  } catch (error) {
    return { failure: toError(error).message };
  }
}
