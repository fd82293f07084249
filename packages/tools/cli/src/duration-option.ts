import { parseGoDuration } from '@kubus/pod';
import { InvalidArgumentError } from 'commander';

/** Parses a duration in milliseconds; a number without a unit is one. Throws commander's InvalidArgumentError. */
export function milliseconds(text: string): number {
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) : parseGoDuration(text);
  if (ms === undefined || ms < 0) throw new InvalidArgumentError('must be a duration like 500ms, 2s or 1m30s');
  return ms;
}
