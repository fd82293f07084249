import { homedir } from 'node:os';
import { join } from 'node:path';
import { type BuiltImage, buildImages } from '@kubus/node-images';

/**
 * Where tests keep what does not change between runs: images, compiled programs. File names contain a hash of everything that
 * the content depends on, so the cache never has to be emptied, and tests that run at once share it.
 */
export function testCache(): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'kubus');
}

/** The images of every private node, built once per machine. */
export async function testImages(): Promise<BuiltImage[]> {
  return buildImages(join(testCache(), 'images'));
}
