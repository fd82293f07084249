import { expect, test } from '@jest/globals';
import { ProgressLine } from './progress-line.ts';

function shownOn(isTTY: boolean): string {
  let written = '';
  const progress = new ProgressLine({ isTTY, write: (text: string) => ((written += text), true) });
  for (const text of ['1 of 2 MiB', '2 of 2 MiB\u001b[2J']) progress.show(text);
  progress.end();
  return written;
}

test('progress is shown in place on a terminal, which obeys no character of it, and is erased at the end', () => {
  expect(shownOn(true)).toBe('\r1 of 2 MiB\u001b[K\r2 of 2 MiB\\u001b[2J\u001b[K\r\u001b[K');
});

test('without a terminal nothing is printed of what is done soon', () => {
  expect(shownOn(false)).toBe('');
});
