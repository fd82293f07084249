import { randomInt } from 'node:crypto';

/** No vowels, so that no word comes of it by chance. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const LENGTH = 5;

/** A name for an object with `metadata.generateName`. */
export function generatedName(prefix: string): string {
  const letters = Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]);
  return `${prefix}${letters.join('')}`;
}
