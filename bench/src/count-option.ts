import { InvalidArgumentError } from 'commander';

/** Parses the number of an option, 1 or more. Throws commander's InvalidArgumentError. */
export function count(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) < 1) throw new InvalidArgumentError('must be a whole number, 1 or more');
  return Number(text);
}
