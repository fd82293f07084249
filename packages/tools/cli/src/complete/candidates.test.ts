import { describe, expect, test } from '@jest/globals';
import { createProgram } from '../program.ts';
import { completionOf } from './candidates.ts';

const program = await createProgram();
const complete = (...words: string[]) => completionOf(program, words);

describe('the words at the cursor', () => {
  test('are commands at first, without hidden ones', () => {
    const { words } = complete('');
    expect(words).toEqual(expect.arrayContaining(['up', 'get', 'trace', 'completion']));
    expect(words).not.toContain('await-pods');
  });

  test('are the subcommands of a command', () => {
    expect(complete('get', '').words).toEqual(['pods', 'nodes', 'events', 'manifests']);
    expect(complete('--node', 'two', 'fault', 'k').words).toContain('kill');
  });

  test.each([
    ['logs web --fo', '--follow'],
    ['logs --', '--node'],
    ['get pods --sel', '--selector'],
    ['get pods --', '--watch'],
    ['up --ob', '--observatory'],
  ])('are options after a dash: %s', (line, option) => {
    expect(complete(...line.split(' ')).words).toContain(option);
  });

  test('are values after "=" where the shell has both in one word', () => {
    expect(complete('up', '--log-level=d')).toMatchObject({
      words: ['debug', 'info', 'warn', 'error'],
      before: '--log-level=',
    });
    expect(complete('logs', '--node=')).toMatchObject({ known: 'nodes', before: '--node=' });
    expect(complete('up', '--none=a').words).toEqual([]);
  });

  test('are the choices of an option or an argument', () => {
    expect(complete('status', '-o', '').words).toEqual(['json', 'yaml']);
    expect(complete('up', '--log-level', 'd').words).toEqual(['debug', 'info', 'warn', 'error']);
    expect(complete('completion', '').words).toEqual(['bash', 'zsh', 'fish']);
  });
});

test.each([
  ['logs', '', 'pods'],
  ['logs -c client', '', 'pods'],
  ['get pods', 'we', 'pods'],
  ['get po', '', 'pods'],
  ['describe pod', '', 'pods'],
  ['trace pod', '', 'pods'],
  ['restart', '', 'services'],
  ['fault pause', 'p', 'services'],
  ['--node', '', 'nodes'],
  ['status --node', '', 'nodes'],
  ['get pods -n', '', 'namespaces'],
])('of "%s %s" the values are %s', (line, last, known) => {
  expect(complete(...line.split(' '), last).known).toBe(known);
});

test('a node that was named is asked, with a blank, "=" or what bash makes of it', () => {
  for (const words of [['--node', 'two'], ['--node=two'], ['--node', '=', 'two']]) {
    expect(complete(...words, 'logs', '')).toMatchObject({ known: 'pods', node: 'two' });
    expect(complete('logs', ...words, '')).toMatchObject({ known: 'pods', node: 'two' });
  }
});

test('the command of exec is not completed', () => {
  expect(complete('exec', 'web', '--', '')).toEqual({ words: [] });
});
