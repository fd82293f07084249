import { expect, test } from '@jest/globals';
import { readJsonLines } from '../src/index.ts';

async function read(...lines: readonly string[]): Promise<string[]> {
  const texts: string[] = [];
  for await (const { message } of readJsonLines(lines, 'a.jsonl')) texts.push(message.data);
  return texts;
}

test('a payload is read as JSON, as text, or as empty', async () => {
  const lines = ['"payload":{"a":1}', '"data":"text"', '"payload":null'];
  await expect(read(...lines.map((content) => `{"subject":"s","headers":{},${content}}`))).resolves.toEqual([
    '{"a":1}',
    'text',
    '',
  ]);
});

test.each([
  ['{"subject":"s","headers":{}}', 'a.jsonl:2: not a message: payload: missing'],
  ['{"subject":1,"headers":{},"data":""}', 'a.jsonl:2: not a message: subject: '],
  ['[]', 'a.jsonl:2: not a message: Invalid input'],
  ['{', 'a.jsonl:2: not a message: '],
])('an invalid line is refused with its file, number and field: %s', async (line, text) => {
  await expect(read('', line)).rejects.toThrow(text);
});
