import { expect, test } from '@jest/globals';
import { logText } from './log-text.ts';

const at = '2030-01-01T00:00:00.123456789Z';

test.each([
  ['', ''],
  [`${at} stdout F one\n${at} stderr F two\n`, 'one\ntwo\n'],
  [`${at} stdout P one \n${at} stdout F half\n`, 'one half\n'],
  [`${at} stdout F \n${at} stdout F  blanks \n`, '\n blanks \n'],
  [`t F cut off\n01-01T00:00:00Z stdout F cut off\n${at} stdout F whole\n`, 'whole\n'],
  [`${at} stdout P:x part\n`, 'part'],
])('the output of %j is %j', (end, text) => {
  expect(logText(end)).toBe(text);
});
