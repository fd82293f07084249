import { homedir } from 'node:os';
import { join } from 'node:path';
import { type BuiltImage, buildImages } from '@kubus/node-images';

/**
 * Where tests keep what is the same each time: images, compiled programs. The names of the files in it say all that
 * their content depends on, so it never has to be emptied, and tests that run at once share it.
 */
export function testCache(): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'kubus');
}

/** The images that every private node has, built once per machine. */
export async function testImages(): Promise<BuiltImage[]> {
  return buildImages(join(testCache(), 'images'));
}
